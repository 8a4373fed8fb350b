"""Vectors of temporal operators: a query as data, events that arrive, the lifetimes that come out.

    events      lifetimes as the vectors tell them, and how results are compared
    arrival     in which order events come, how far time is known to be, what is late
    rows        Python expressions over payloads, as operators
    windows     windows as changes of lifetimes
    aggregates  the aggregates, by their names in the vectors
    streams     operators one after the other, which others may come in to
    unary       the operators on one stream, by their names
    binary      those on two
    query       a query as data, made into operators
    run         one vector from beginning to end
    own_clocks  the same, where each key has a clock of its own
    on_spark    the same, as a batch on Spark
    streamed    the same, as a stream on Spark

One unit of a vector is a microsecond. Payloads are any JSON: they go through the operators as text,
beside the columns that an operator reads. What `select` and its like compute row by row, Spark does
in front of a sort; here it is done where the query asks for it.
"""

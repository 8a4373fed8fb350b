"""Vectors of temporal operators: a query as data, input events, and the expected lifetimes.

    events      lifetimes in the form of vectors, and how results are compared
    arrival     the order of events, the watermark, and late events
    rows        Python expressions over payloads, as operators
    windows     windows as changes of lifetimes
    aggregates  the aggregates, by their names in the vectors
    streams     chains of operators, which other streams may join
    unary       the operators on one stream, by name
    binary      the operators on two streams, by name
    query       a query as data, turned into operators
    run         runs one vector on the local host
    own_clocks  runs a vector whose keys have clocks of their own
    on_spark    runs a vector as a batch on Spark
    streamed    runs a vector as a stream on Spark

One unit of a vector is a microsecond. Payloads are any JSON: they pass through the operators as
text, beside the columns that an operator reads. Spark computes expressions such as `select` before
the sort; here they are computed at their place in the query.
"""

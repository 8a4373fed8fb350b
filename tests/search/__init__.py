"""Random queries, compared with brute force, for as long as you like.

    make search SECONDS=3600
    .venv/bin/python -m tests.search --kind windows --seed 17

A *kind* of query is a module here with `draw`, `found` and `expected`. `expected` follows the
documentation alone, as slowly and plainly as possible. It shares no code with the project or with
the twins of other tests. The seed determines the case: its schema, column names, types, options,
and how the rows are cut into micro-batches.
"""

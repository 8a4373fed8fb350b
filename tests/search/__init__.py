"""Random queries against brute force, for as long as one likes.

    make search SECONDS=3600
    .venv/bin/python -m tests.search --kind windows --seed 17

A *kind* of query is a module here with `draw`, `found` and `expected`. What is expected is written
from the documentation alone, as slowly and plainly as possible, and shares no code with the
project or with the twins of other tests. Schemas, names of columns, types, options and the cuts
into micro-batches are drawn from a seed, so that a seed is a case.
"""

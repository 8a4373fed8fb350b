"""Conformance: run files of facts (inputs, parameters, expected outputs) against both hosts.

    python -m tests.conformance FILE.json [--host local|spark] [--verbose]

A file holds `vectors`, each with a `name`, a `kind`, `params`, `input` and `expected`. What a kind
means is said in the file's `_meta`, and done here by one function per kind and host, which runs a
vector and returns what it got in the same form as `expected`. A vector without a kind is a query
over lifetimes; see `tests.conformance.temporal`.

On Spark, vectors that ask for the same are one query (`tests.conformance.lanes`). A run of all
vectors takes minutes there, so the tests run a sample of them.
"""

"""Conformance: run files of vectors (inputs, parameters, expected outputs) on both hosts.

    python -m tests.conformance FILE.json [--host local|spark] [--verbose]

A file holds `vectors`, each with a `name`, a `kind`, `params`, `input` and `expected`. The file's
`_meta` describes its kinds. For each kind and host, one function here runs a vector and returns its
results in the form of `expected`. A vector without a kind is a query over lifetimes; see
`tests.conformance.temporal`.

On Spark, vectors with the same query share one (`tests.conformance.lanes`). A run of all vectors
takes minutes there, so the tests run a sample of them.
"""

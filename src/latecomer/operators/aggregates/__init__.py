"""Aggregates, one idea to a file; users make them with `latecomer.agg`."""

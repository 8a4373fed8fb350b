"""Operators, one per file; start reading in `latecomer.operators.base`."""

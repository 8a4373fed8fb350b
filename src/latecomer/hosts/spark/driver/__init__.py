"""Aggregates with few states, which the driver keeps."""

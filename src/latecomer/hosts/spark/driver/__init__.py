"""Aggregates whose few states are kept by the driver."""

"""Measure how disordered a DataFrame is, on Spark."""

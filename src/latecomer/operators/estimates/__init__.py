"""Estimates of aggregates from a sample of the rows, with confidence bounds."""

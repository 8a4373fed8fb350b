"""Measures of the disorder of a stream."""

"""Rows that follow each other in a way that was described: patterns."""

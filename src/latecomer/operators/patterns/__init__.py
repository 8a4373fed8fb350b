"""Patterns: rows that follow each other in a described order. Start with `detect.py`."""

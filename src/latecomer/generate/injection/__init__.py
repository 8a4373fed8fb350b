"""Reproducible disorder for any data: arrivals are shifted, times stay as they are."""

"""Shift arrivals, keep event times: reproducible disorder on any data."""

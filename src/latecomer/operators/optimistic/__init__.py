"""Compute at once, and take back wrong results later. Start with `items.py`."""

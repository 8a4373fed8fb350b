"""Compute at once, and take back what was wrong. Start reading at `items`."""

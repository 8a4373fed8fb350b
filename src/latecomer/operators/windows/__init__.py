"""Aggregates by window and key."""

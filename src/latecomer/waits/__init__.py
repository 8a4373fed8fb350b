"""Waits for late rows, chosen so that a stated recall is reached."""

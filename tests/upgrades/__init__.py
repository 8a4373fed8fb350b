"""Saved states and checkpoints of released versions, and a test that this version goes on with them."""

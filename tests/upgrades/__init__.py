"""Saved states and checkpoints of released versions; this version continues from them."""

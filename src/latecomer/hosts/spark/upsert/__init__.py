"""A sink that keeps one current row per window and key."""

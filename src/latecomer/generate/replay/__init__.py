"""Replay recorded rows at their arrivals, as a Spark stream or as files in a directory."""

"""The Spark host. See `frames` for the whole path of a row."""

"""The Spark host. See `query` for the whole path of a row."""

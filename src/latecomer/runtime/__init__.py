"""A local Spark session, and a Java for it."""

"""Hosts run plans: in this process, or on Spark."""

"""Sinks of other software: tables of Delta and Iceberg, and topics of Kafka."""

"""Sinks that other software keeps: tables of Delta and Iceberg, and topics of Kafka."""

"""Benchmarks, one file for each question. Each prints JSON lines with `--json`."""

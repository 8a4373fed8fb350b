"""Benchmarks: one file per question. Each prints JSON lines with `--json`."""

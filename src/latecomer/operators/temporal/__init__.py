"""Operators on lifetimes: what was true at each instant. Start with `edges.py` and `base.py`."""

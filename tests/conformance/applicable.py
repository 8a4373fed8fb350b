"""Vectors that cannot be said on a host."""


class NotApplicableError(Exception):
    """A vector that cannot be said; tells why."""

"""Write times for people."""

from __future__ import annotations

from datetime import UTC, datetime


def clock(micros: int) -> str:
    """Write a time in UTC: the day, the hour and the minute."""
    return f"{datetime.fromtimestamp(micros / 1_000_000, UTC):%b %d %H:%M}"

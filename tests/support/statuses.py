"""Made-up statuses, in the form in which queries report them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

BOUNDS = (0, 1, 10, 100, 1_000, 5_000, 10_000, 60_000, 600_000, None)
SHARES = (0.6, 0.05, 0.05, 0.1, 0.1, 0.05, 0.03, 0.015, 0.004, 0.001)
START = 1_700_000_000_000_000
"""Time of the first status, in microseconds."""


def status(batch: int, name: str = "orders <by> hour", late: int = 0) -> dict[str, Any]:
    """Return the status of a query after a micro-batch of 10,000 rows."""
    rows = 10_000 * (batch + 1)
    late += 7 * batch + (400 if batch > 30 else 0)
    return {
        "query": name,
        "id": "0b1c",
        "run": "77aa",
        "batch": batch,
        "watermark": START // 1_000 + 5_000 * batch,
        "newest": START // 1_000 + 5_000 * batch + 50_000,
        "behind_newest_ms": 50_000 + 1_000 * (batch % 9),
        "behind_wall_ms": 90_000 + 1_000 * (batch % 9),
        "rows": {
            "in": rows,
            "ready": rows - late - 900,
            "held": 900,
            "late": {"late": late - batch, "no time": batch},
            "dropped": 0,
        },
        "held_bytes": 1_234_567,
        "open_windows": 42,
        "waits": [
            {
                "wait": "1 second",
                "wait_ms": 1_000,
                "answers": 40 * batch,
                "refined": 0,
                "recall": 0.9,
            },
            {
                "wait": "1 minute",
                "wait_ms": 60_000,
                "answers": 39 * batch,
                "refined": 12,
                "recall": 0.991,
            },
        ],
        "recalls": [
            {"target": 0.99, "achieved": 0.985 + 0.0003 * (batch % 30), "wait_ms": 700 * batch}
        ],
        "backlog": 20_000,
        "batch_ms": 800 + 37 * (batch % 11),
        "rows_per_second": 9_000.0,
        "keys": [
            {"key": {"device": f"<device {n}> & co"}, "late": (9 - n) * batch} for n in range(9)
        ],
        "delays": [
            [bound, round(rows * share)] for bound, share in zip(BOUNDS, SHARES, strict=True)
        ],
    }


def statuses(count: int, name: str = "orders <by> hour") -> Iterator[dict[str, Any]]:
    for batch in range(count):
        yield status(batch, name)

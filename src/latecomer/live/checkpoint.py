"""The status of a query as its checkpoint has it, read without Spark.

    CHECKPOINT/metadata     {"id": …}
    CHECKPOINT/offsets/7    v1 │ {"batchWatermarkMs": …, …} │ sources
    CHECKPOINT/commits/7    v1 │ {"nextBatchWatermarkMs": …}

Spark's watermark is our clock: the newest time of all micro-batches before.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from latecomer.live.history import Status


def status(checkpoint: Path) -> Status:
    """Return what a checkpoint on this machine says of its query."""
    begun = _numbers(checkpoint / "offsets")
    done = _numbers(checkpoint / "commits")
    last = _second_line(checkpoint / "offsets" / str(begun[-1])) if begun else {}
    newest = int(last.get("batchWatermarkMs", 0))
    return {
        "query": checkpoint.name,
        "id": _id(checkpoint),
        "batch": done[-1] if done else None,
        # It begins in 1970.
        "newest": newest or None,
    }


def _id(checkpoint: Path) -> str | None:
    try:
        return str(json.loads((checkpoint / "metadata").read_text("utf-8"))["id"])
    except (OSError, ValueError, KeyError):
        return None


def _numbers(log: Path) -> list[int]:
    """Return the numbers of the micro-batches of a log, ascending."""
    if not log.is_dir():
        return []
    return sorted(int(file.name) for file in log.iterdir() if file.name.isdecimal())


def _second_line(file: Path) -> dict[str, Any]:
    """Read the line of an entry that describes the micro-batch; an entry may be gone by now."""
    try:
        found = json.loads(file.read_text("utf-8").splitlines()[1])
    except (OSError, ValueError, IndexError):
        return {}
    return dict(found)

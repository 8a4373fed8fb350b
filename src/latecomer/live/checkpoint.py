"""The status of a query as its checkpoint has it, read without starting Spark.

    CHECKPOINT/latecomer/totals    what was counted up to each of the last 100 micro-batches
    CHECKPOINT/metadata            {"id": …}
    CHECKPOINT/offsets/7           v1 │ {"batchWatermarkMs": …, …} │ sources
    CHECKPOINT/commits/7           v1 │ {"nextBatchWatermarkMs": …}

A query that `start` began writes totals. Of any other query only what Spark writes is known: the
number of the last micro-batch, and its watermark, which is our clock: the newest time of all
micro-batches before.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from latecomer.hosts.spark.durable import totals
from latecomer.hosts.spark.status import of_totals

if TYPE_CHECKING:
    from pathlib import Path

    from latecomer.live.history import Status


def statuses(checkpoint: Path) -> list[Status]:
    """Return what a checkpoint on this machine says of its query, after each micro-batch."""
    name, number = checkpoint.name, _id(checkpoint)
    counted = totals.read_local(checkpoint)
    if not counted:
        return [{"query": name, "id": number, **_by_spark(checkpoint)}]
    found = []
    for each in counted:
        status = of_totals(each, name=name, ids=(number, ""), is_active=False, plan=None)
        # How far it was behind the clock then is not known now.
        found.append({**status.to_dict(), "at_ms": 1_000 * each.written, "behind_wall_ms": None})
    return found


def _by_spark(checkpoint: Path) -> dict[str, Any]:
    begun = _numbers(checkpoint / "offsets")
    done = _numbers(checkpoint / "commits")
    last = _second_line(checkpoint / "offsets" / str(begun[-1])) if begun else {}
    # The watermark begins in 1970.
    newest = int(last.get("batchWatermarkMs", 0)) or None
    return {"batch": done[-1] if done else None, "newest": newest}


def _id(checkpoint: Path) -> str:
    try:
        return str(json.loads((checkpoint / "metadata").read_text("utf-8"))["id"])
    except (OSError, ValueError, KeyError):
        return ""


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

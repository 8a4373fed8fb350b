"""The status of a query, read from its checkpoint without starting Spark.

    CHECKPOINT/latecomer/totals    what was counted up to each of the last 100 micro-batches
    CHECKPOINT/metadata            {"id": …}
    CHECKPOINT/offsets/7           v1 │ {"batchWatermarkMs": …, …} │ sources
    CHECKPOINT/commits/7           v1 │ {"nextBatchWatermarkMs": …}

A query of `start` writes totals. Of any other query only two facts are known, which Spark writes:
the number of the last micro-batch, and Spark's watermark, which Latecomer uses as its clock. It is
the newest time of all earlier micro-batches.
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
    """Return the status of a query after each micro-batch, from its checkpoint on this machine."""
    name, number = checkpoint.name, str(_line(checkpoint / "metadata", 0).get("id", ""))
    counted = totals.read_local(checkpoint)
    if not counted:
        return [{"query": name, "id": number, **_by_spark(checkpoint)}]
    found = []
    for each in counted:
        status = of_totals(each, name=name, ids=(number, ""), is_active=False)
        # The delay to the wall clock at that time is not known any more.
        found.append({**status.to_dict(), "at_ms": 1_000 * each.written, "behind_wall_ms": None})
    return found


def _by_spark(checkpoint: Path) -> dict[str, Any]:
    begun = _numbers(checkpoint / "offsets")
    done = _numbers(checkpoint / "commits")
    # The second line describes the micro-batch.
    last = _line(checkpoint / "offsets" / str(begun[-1]), 1) if begun else {}
    # Before the first row, the watermark is 0.
    newest = int(last.get("batchWatermarkMs", 0)) or None
    return {"batch": done[-1] if done else None, "newest": newest}


def _numbers(log: Path) -> list[int]:
    """Return the numbers of the micro-batches of a log, ascending."""
    if not log.is_dir():
        return []
    return sorted(int(file.name) for file in log.iterdir() if file.name.isdecimal())


def _line(file: Path, number: int) -> dict[str, Any]:
    """Return the JSON object in a line of a file that Spark writes; {} if the file is gone."""
    try:
        return dict(json.loads(file.read_text("utf-8").splitlines()[number]))
    except (OSError, ValueError, IndexError):
        return {}

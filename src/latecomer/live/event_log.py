"""Statuses from an event log of Spark (`spark.eventLog.enabled`), running or ended.

Spark writes what it reports of each micro-batch to its event log, as lines of JSON among many
others. A log is a file, or a directory of files that follow each other:

    eventlog_v2_app-1/events_1_app-1.zstd      compressed by default since Spark 4
    eventlog_v2_app-1/events_2_app-1.zstd

What was counted is added up over the micro-batches of the log, which may have begun before a
query's checkpoint or after it. The last block of a compressed file that is being written is not
there yet, so a query is seen some micro-batches late; `spark.eventLog.compress=false` avoids that.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.hosts.output import FOLDED, IN_TIME
from latecomer.hosts.recall_report import MISSED, PRODUCED, WAITED, target_of
from latecomer.time import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from latecomer.live.history import Status

    Progress = dict[str, Any]

_PROGRESS = "StreamingQueryListener$QueryProgressEvent"
_BLOCK = 1 << 20
_COMPRESSED = {".zstd": "zstd", ".gz": "gzip", ".lz4": "lz4"}


class EventLog:
    """The queries of an event log; what has been read is read again only if the log has grown."""

    def __init__(self, path: Path) -> None:
        """Find the files of a log: the file itself, or those of a directory."""
        self._path = path
        self._sizes: dict[Path, int] = {}
        self._found: list[Status] = []

    def statuses(self) -> list[Status]:
        """Return the status of every query in the log."""
        files = self._files()
        sizes = {file: file.stat().st_size for file in files}
        if sizes != self._sizes:
            self._sizes = sizes
            by_query: dict[str, list[Progress]] = {}
            for file in files:
                for progress in _progresses(file):
                    by_query.setdefault(progress["id"], []).append(progress)
            self._found = [status_of(each) for each in by_query.values()]
        return self._found

    def _files(self) -> list[Path]:
        if self._path.is_file():
            return [self._path]
        found = [
            file
            for pattern in ("events_*", "eventlog_v2_*/events_*")
            for file in self._path.glob(pattern)
        ]
        return sorted(found, key=lambda file: (file.parent, int(file.name.split("_")[1])))


def status_of(progresses: list[Progress]) -> Status:
    """Return the status of a query that has reported these micro-batches, in this order."""
    last = progresses[-1]
    counts: Counter[str] = Counter()
    waited: dict[str, int] = {}
    for observed in (each for progress in progresses for each in _observed(progress)):
        for name, count in observed.items():
            if name.startswith(f"{WAITED}_"):
                waited[name] = count if count is not None else waited.get(name, 0)
            elif count is not None:
                counts[name] += count
    ahead = counts["ahead"]
    late = {"late": counts["late"] - ahead, "ahead": ahead}
    return {
        "query": last.get("name") or last["id"],
        "id": last["id"],
        "run": last["runId"],
        "batch": last["batchId"],
        "newest": _millis(last.get("eventTime", {}).get("max")),
        "rows": {
            "in": sum(
                int(source["numInputRows"])
                for progress in progresses
                for source in progress["sources"]
            ),
            "ready": counts["ready"],
            "late": {reason: rows for reason, rows in late.items() if rows},
            "dropped": counts["dropped"],
        },
        "waits": _waits(counts),
        "recalls": _recalls(counts, waited),
        "batch_ms": last.get("durationMs", {}).get("triggerExecution"),
        "rows_per_second": sum(
            float(source.get("processedRowsPerSecond") or 0) for source in last["sources"]
        ),
    }


def _progresses(file: Path) -> Iterator[Progress]:
    for line in _lines(file):
        if _PROGRESS in line:
            try:
                yield json.loads(line)["progress"]
            except ValueError:
                # The last line of a file that is being written.
                continue


def _lines(file: Path) -> Iterator[str]:
    """Read the lines that are there; the end of a file that is being written may be missing."""
    codec = _COMPRESSED.get(Path(file.name.removesuffix(".inprogress")).suffix)
    rest = b""
    with pa.input_stream(str(file), compression=codec) as stream:
        while True:
            try:
                block = stream.read(_BLOCK)
            except OSError:
                break
            if not block:
                break
            *whole, rest = (rest + block).split(b"\n")
            yield from (line.decode("utf-8", "replace") for line in whole)
    yield rest.decode("utf-8", "replace")


def _observed(progress: Progress) -> Iterator[dict[str, int | None]]:
    for name, row in progress.get("observedMetrics", {}).items():
        if name.startswith("latecomer"):
            names = [field["name"] for field in row["schema"]["fields"]]
            values = dict(zip(names, row["values"], strict=True))
            yield {each: value for each, value in values.items() if not isinstance(value, str)}


def _waits(counts: Counter[str]) -> list[dict[str, Any]]:
    """Return the share of rows that each wait had seen, of all that came."""
    in_time = {
        int(name.removeprefix(IN_TIME)): rows
        for name, rows in counts.items()
        if name.startswith(IN_TIME)
    }
    every = sum(in_time.values()) + counts[FOLDED]
    waits = sorted(in_time)
    return [
        {
            "wait": duration_text(timedelta(microseconds=wait)),
            "wait_ms": wait // 1_000,
            "recall": seen / every if every else None,
        }
        for wait, seen in zip(waits, accumulate(in_time[wait] for wait in waits), strict=True)
    ]


def _recalls(counts: Counter[str], waited: dict[str, int]) -> list[dict[str, Any]]:
    found = []
    for name in sorted(name for name in counts if name.startswith(f"{PRODUCED}_")):
        target = target_of(name, PRODUCED)
        suffix = name.removeprefix(PRODUCED)
        produced, missed = counts[name], counts[f"{MISSED}{suffix}"]
        wait = waited.get(f"{WAITED}{suffix}")
        found.append(
            {
                "target": target,
                "achieved": produced / (produced + missed) if produced + missed else None,
                "wait_ms": None if wait is None else wait / 1_000,
            }
        )
    return found


def _millis(time: str | None) -> int | None:
    return None if time is None else int(datetime.fromisoformat(time).timestamp() * 1_000)

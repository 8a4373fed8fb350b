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
_MOST = 300
"""Micro-batches of the past that are shown."""
_COMPRESSED = {".zstd": "zstd", ".gz": "gzip", ".lz4": "lz4"}


class EventLog:
    """The queries of an event log, of which micro-batches are read as they come."""

    def __init__(self, path: Path) -> None:
        """Find the files of a log: the file itself, or those of a directory."""
        self._path = path
        self._sizes: dict[Path, int] = {}
        self._queries: dict[str, Counted] = {}

    def statuses(self) -> list[Status]:
        """Return a status for each micro-batch that is new; or the last one of each query."""
        files = self._files()
        sizes = {file: file.stat().st_size for file in files}
        if sizes == self._sizes:
            return [query.status() for query in self._queries.values()]
        self._sizes = sizes
        found: dict[str, list[Status]] = {name: [] for name in self._queries}
        for progress in (each for file in files for each in _progresses(file)):
            query = self._queries.setdefault(progress["id"], Counted())
            if query.add(progress):
                found.setdefault(progress["id"], []).append(query.status())
        return [
            status
            for name, new in found.items()
            for status in (new[-_MOST:] or [self._queries[name].status()])
        ]

    def _files(self) -> list[Path]:
        if self._path.is_file():
            return [self._path]
        found = [
            file
            for pattern in ("events_*", "eventlog_v2_*/events_*")
            for file in self._path.glob(pattern)
        ]
        return sorted(found, key=lambda file: (file.parent, int(file.name.split("_")[1])))


class Counted:
    """What the micro-batches of a query have counted, added up, each once."""

    def __init__(self) -> None:
        """Begin with nothing counted; a status needs one micro-batch."""
        self._seen: set[tuple[str, int]] = set()
        self._counts: Counter[str] = Counter()
        self._waited: dict[str, int] = {}
        self._read = 0
        self._last: Progress = {}

    def add(self, progress: Progress) -> bool:
        """Add what Spark reports of one micro-batch; return False if it was added before."""
        batch = (progress["runId"], progress["batchId"])
        if batch in self._seen:
            return False
        self._seen.add(batch)
        self._last = progress
        self._read += sum(int(source["numInputRows"]) for source in progress["sources"])
        for name, count in (each for row in _observed(progress) for each in row.items()):
            if count is None:
                continue
            if name.startswith(f"{WAITED}_"):
                self._waited[name] = count
            else:
                self._counts[name] += count
        return True

    def status(self) -> Status:
        """Return the status after the last micro-batch."""
        return _status(self._last, self._counts, self._waited, self._read)


def _status(last: Progress, counts: Counter[str], waited: dict[str, int], read: int) -> Status:
    ahead = counts["ahead"]
    late = {"late": counts["late"] - ahead, "ahead": ahead}
    return {
        "query": last.get("name") or last["id"],
        "id": last["id"],
        "run": last["runId"],
        "batch": last["batchId"],
        "at_ms": _millis(last.get("timestamp")) or 0,
        "newest": _millis(last.get("eventTime", {}).get("max")),
        "rows": {
            "in": read,
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
            values = row
            if row.keys() == {"values", "schema"}:
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

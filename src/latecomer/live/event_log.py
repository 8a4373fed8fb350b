"""Statuses from an event log of Spark (`spark.eventLog.enabled`), running or ended.

Spark writes the progress of each micro-batch to its event log, as lines of JSON among many others.
A log is a file, or a directory of consecutive files:

    eventlog_v2_app-1/events_1_app-1.zstd      compressed by default since Spark 4
    eventlog_v2_app-1/events_2_app-1.zstd

Counts are added up over the micro-batches in the log, which may have begun before a query's
checkpoint or after it. The last block of a compressed file is missing while it is being written, so
a query is seen some micro-batches late. `spark.eventLog.compress=false` avoids that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.hosts.spark.durable.totals import Totals
from latecomer.hosts.spark.progress import METRIC, named
from latecomer.hosts.spark.status import of_totals
from latecomer.hosts.tally import Tally, added

if TYPE_CHECKING:
    from latecomer.live.history import Status

    Progress = dict[str, Any]

_PROGRESS = "StreamingQueryListener$QueryProgressEvent"
_BLOCK = 1 << 20
_MOST = 300
"""Most micro-batches that are returned for a query at once."""
_COMPRESSED = {".zstd": "zstd", ".gz": "gzip", ".lz4": "lz4"}


class EventLog:
    """The queries of an event log, whose micro-batches are read as they are written."""

    def __init__(self, path: Path) -> None:
        """Remember the path of the log, a file or a directory; nothing is read yet."""
        self._path = path
        self._sizes: dict[Path, int] = {}
        self._queries: dict[str, Counted] = {}

    def statuses(self) -> list[Status]:
        """Return a status for each new micro-batch, or the last one for queries without any."""
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
    """The total counts of a query's micro-batches; each is counted once."""

    def __init__(self) -> None:
        """Begin with nothing counted; `status` needs at least one micro-batch."""
        self._seen: set[tuple[str, int]] = set()
        self._totals: Tally = {}
        self._first = self._last = dict[str, Any]()

    def add(self, progress: Progress) -> bool:
        """Add the progress of one micro-batch; return False if it was added before."""
        batch = (progress["runId"], progress["batchId"])
        if batch in self._seen:
            return False
        self._seen.add(batch)
        for name, row in progress.get("observedMetrics", {}).items():
            if name.startswith(METRIC):
                self._totals = added(self._totals, named(row))
        self._first = self._first or progress
        self._last = progress
        return True

    def status(self) -> Status:
        """Return the status after the last micro-batch."""
        last, at = self._last, self._last.get("timestamp")
        status = of_totals(
            Totals(last["batchId"], self._first["batchId"], self._totals),
            name=last.get("name") or last["id"],
            ids=(last["id"], last["runId"]),
            is_active=True,
        )
        rate = sum(float(each.get("processedRowsPerSecond") or 0) for each in last["sources"])
        return {
            **status.to_dict(),
            "at_ms": int(datetime.fromisoformat(at).timestamp() * 1_000) if at else 0,
            # The delay to the wall clock at that time is not known any more.
            "behind_wall_ms": None,
            "batch_ms": last.get("durationMs", {}).get("triggerExecution"),
            "rows_per_second": rate,
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
    """Yield the lines of a file, whose end may be missing while it is being written."""
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

"""The expected output: that of the local host, for the micro-batches and clock of a checkpoint."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow as pa

from latecomer.hosts import local
from latecomer.hosts.local import LocalHost, Step
from latecomer.hosts.spark.spark_clock import SparkClock
from latecomer.operators.optimistic.changelog import CHANGE_NUMBER

if TYPE_CHECKING:
    from tests.chaos.catalogue import Entry

Rows = Counter[str]
UNTOLD = {CHANGE_NUMBER, "bucket"}
"""Columns whose values depend on the number of buckets."""


def counted(rows: pa.Table, *untold: str) -> Rows:
    """Count equal rows, in any order and without some columns."""
    skipped = {*UNTOLD, *untold}
    names = [n for n in rows.column_names if n not in skipped and not n.startswith("_lc_")]
    return Counter(repr(tuple(row.values())) for row in rows.select(names).to_pylist())


class Reference:
    """The expected outputs of each micro-batch in the log."""

    def __init__(self, entry: Entry, streams: list[list[pa.Table]]) -> None:
        self._entry, self._streams = entry, streams
        self._host = LocalHost(entry.plan, *entry.schemas)
        self._clock = SparkClock.of(entry.plan)
        self._until = [0] * len(streams)
        self.batches: list[dict[str, pa.Table]] = []
        self.read = 0
        """Number of rows read."""
        self.dropped = 0

    def upto(self, offsets: dict[int, dict[str, Any]], number: int) -> None:
        """Compute all micro-batches up to this one."""
        for each in range(len(self.batches), number + 1):
            self.batches.append(self._step(offsets[each]))

    def finish(self) -> dict[str, pa.Table]:
        """Return the rows that come out when the stream ends."""
        return self._outputs([self._host.finish()])

    @property
    def held(self) -> int:
        return self._host.held

    def _step(self, entry: dict[str, Any]) -> dict[str, pa.Table]:
        rows = [
            pa.concat_tables([schema.empty_table(), *batches[a:b]])
            for schema, batches, a, b in zip(
                self._entry.schemas, self._streams, self._until, entry["until"], strict=True
            )
        ]
        self._until = entry["until"]
        self.read += sum(each.num_rows for each in rows)
        with patch.object(local, "time_ns", lambda: entry["now"] * 1_000_000):
            if self._entry.states == "driver":
                nothing = [each.slice(0, 0) for each in rows]
                return self._outputs([self._host.step(*rows), self._host.step(*nothing)])
            newest = self._clock.newest(entry["watermark"])
            self._host._newest = [newest for _ in rows]
            return self._outputs([self._host.step(*rows, now=entry["now"] * 1_000)])

    def _outputs(self, steps: list[Step]) -> dict[str, pa.Table]:
        self.dropped += sum(step.dropped for step in steps)
        found = {"ready": pa.concat_tables([step.ready for step in steps])}
        for number, plan in enumerate(self._entry.plan.inputs):
            late = pa.concat_tables([step.lates[number] for step in steps])
            found[plan.source.late] = late
        if self._entry.plan.targets:
            found["recall"] = pa.concat_tables([step.recall for step in steps])
        return {name: rows for name, rows in found.items() if rows.num_rows}

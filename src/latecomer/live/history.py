"""The statuses of a query over time.

A status is what `latecomer.status(query).to_dict()` returns. Every field may be missing: an
endpoint, a checkpoint and a plain `to_df()` query know less than a query of `start`. A sample is a
status with the time at which it was taken. Counts are totals, so the difference of two samples is
what happened between them.

A history holds at most twice `MOST` samples: the last `MOST`, and every n-th of those before, so
that the whole time stays visible in coarser steps:

    ·   ·   ·   ·   ·   ·   ·········
    thinned whenever it is full          the last ones

While a query does nothing, each new sample replaces the last one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from latecomer.profile.delay_counts import DelayCounts

Status = dict[str, Any]
"""The status of a query as a dict; see `latecomer.status`."""

MOST = 300
"""Most recent samples, and most older ones, in a history; at one every two seconds, 10 minutes."""
_MILLI = 1_000


@dataclass(frozen=True, slots=True)
class Sample:
    """A status, and the time at which it was taken."""

    at: int
    """Time of the sample, in microseconds since 1970."""
    status: Mapping[str, Any]

    @property
    def batch(self) -> tuple[object, object]:
        """The run and the number of the micro-batch of the status."""
        return self.status.get("run"), self.status.get("batch")

    def rows(self, name: str) -> int | None:
        """Return a count of rows: "in", "ready", "held" or "dropped"; None if it is not known."""
        found = (self.status.get("rows") or {}).get(name)
        return None if found is None else int(found)

    @property
    def late(self) -> dict[str, int]:
        """Rows that were late, by reason."""
        return dict((self.status.get("rows") or {}).get("late") or {})

    @property
    def late_rows(self) -> int:
        """Rows that were late, for any reason."""
        return sum(self.late.values())

    def micros(self, name: str) -> int | None:
        """Return a duration or time in microseconds that the status has in milliseconds."""
        found = self.status.get(name)
        return None if found is None else int(found * _MILLI)

    def listed(self, name: str) -> list[Any]:
        """Return a list of the status; empty if it is not known."""
        return list(self.status.get(name) or ())

    def recalls(self) -> Iterator[tuple[str, float]]:
        """Yield the recall so far of each wait or target that has one, with its name."""
        for each in self.listed("waits"):
            if each.get("recall") is not None:
                yield f"wait {each['wait']}", each["recall"]
        for each in self.listed("recalls"):
            if each.get("achieved") is not None:
                yield target(each), each["achieved"]

    def waits(self) -> Iterator[tuple[str, int]]:
        """Yield the wait of each target that has one, in microseconds, with its name."""
        for each in self.listed("recalls"):
            if each.get("wait_ms") is not None:
                yield target(each), int(each["wait_ms"] * _MILLI)


def target(each: Mapping[str, Any]) -> str:
    """Return the name of a recall target."""
    asked = each.get("target")
    return "fixed wait" if asked is None else f"recall {100 * asked:g} %"


def key_text(key: object) -> str:
    """Return the text of a key, which a status has as a dict."""
    if isinstance(key, dict):
        return ", ".join(map(str, key.values()))
    return str(key)


def delays(sample: Sample, before: Sample | None = None) -> tuple[DelayCounts, int] | None:
    """Return the rows by delay, and the number of all rows; None if they are not known.

    Rows of an earlier sample, `before`, are left out. A status counts rows between bounds, so each
    delay is rounded up to its bound. Rows beyond the last bound are only in the number of all rows.
    """
    steps = dict(sample.listed("delays"))
    earlier = dict(before.listed("delays")) if before else {}
    if any(earlier.get(bound, 0) > rows for bound, rows in steps.items()):
        # The query has started over with a new checkpoint.
        earlier = {}
    rows_of = {bound: int(rows) - int(earlier.get(bound, 0)) for bound, rows in steps.items()}
    known = sorted(
        (int(bound * _MILLI), rows) for bound, rows in rows_of.items() if rows and bound is not None
    )
    if not known:
        return None
    upper, rows = zip(*known, strict=True)
    counts = DelayCounts(
        np.array(upper, np.uint64), np.array(rows, np.int64), upper[-1], is_exact=False
    )
    return counts, sum(rows_of.values())


def late_shares(samples: Sequence[Sample]) -> list[tuple[int, float | None]]:
    """Return the share of late rows for each sample that has more rows than the one before.

    The share is None where counts fall, as when a query starts over with a new checkpoint.
    """
    found: list[tuple[int, float | None]] = []
    before = samples[0]
    for now in samples[1:]:
        rows = (now.rows("in") or 0) - (before.rows("in") or 0)
        late = now.late_rows - before.late_rows
        if rows < 0 or late < 0:
            found.append((now.at, None))
        elif rows:
            found.append((now.at, min(late / rows, 1.0)))
        else:
            continue
        before = now
    return found


class History:
    """The samples of one query, in the order in which they were taken."""

    def __init__(self, most: int = MOST) -> None:
        """Begin without samples; at most twice `most` are kept."""
        self._most = most
        self._recent: list[Sample] = []
        self._older: list[Sample] = []
        self._stride, self._left = 1, 0

    def add(self, status: Mapping[str, Any], at: int) -> None:
        """Add a status that was taken at a time, in microseconds."""
        sample = Sample(at, status)
        last = self._recent[-2:]
        if len(last) > 1 and all(each.batch == sample.batch for each in last):
            self._recent.pop()
        self._recent.append(sample)
        if len(self._recent) > self._most:
            self._keep(self._recent.pop(0))

    def _keep(self, sample: Sample) -> None:
        """Keep every n-th sample; when there are too many, drop every second and double n."""
        if self._left % self._stride == 0:
            self._older.append(sample)
        self._left += 1
        if len(self._older) > self._most:
            self._older = self._older[::2]
            self._stride *= 2

    def copy(self) -> History:
        """Return a copy that does not change when samples are added to this history."""
        other = History(self._most)
        other._recent, other._older = list(self._recent), list(self._older)
        return other

    @property
    def last(self) -> Sample:
        """The newest sample; there must be one."""
        return self._recent[-1]

    def since(self, micros: int | None) -> list[Sample]:
        """Return the samples of the last `micros` microseconds; None returns them all."""
        every = [*self._older, *self._recent]
        if micros is None:
            return every
        return [each for each in every if each.at >= self.last.at - micros]

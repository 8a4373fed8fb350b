"""The counts of a query since its checkpoint began, exact through restarts.

    CHECKPOINT/latecomer/totals/slot-7      the totals after micro-batch 7, 107, 207, …
    CHECKPOINT/latecomer/totals/slot-8

After each micro-batch one record is written. It holds the totals up to and including this
micro-batch: the totals before it, plus its tally (`hosts.tally`). **A micro-batch that is run again
does not count twice**: it begins with the totals of the micro-batch before it, and its record
replaces that of the earlier run, with the same numbers.

The last `SLOTS` records are kept, in a ring, so the number of files is bounded. They are also a
short history: each has the tally of its own micro-batch and the time when it was written.

Records are not synced to disk, and neither are Spark's own files in a checkpoint. If a power cut
loses or damages a record, or a release without totals has run in between, counting begins again
there, and the record says since which micro-batch (`since`).

Keys with late rows are counted for the `KEPT` worst of them. When there are more, all counts are
lowered by the smallest (Misra and Gries, Finding repeated elements, 1982): a key's count is then
too low by at most the number of all late rows, divided by `KEPT`.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from latecomer.clock.policy import ClockPolicy
from latecomer.hosts.advice import Advice
from latecomer.hosts.spark import flush
from latecomer.hosts.spark.durable import offset_log
from latecomer.hosts.spark.durable.ledger import Ledger, Places
from latecomer.hosts.spark.durable.owner import Owner
from latecomer.hosts.spark.held import held
from latecomer.hosts.tally import (
    ROWS_HELD,
    TALLY,
    WINDOWS_OPEN,
    Tally,
    added,
    tallied,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SLOTS = 100
KEPT = 100
"""Number of keys with late rows that are counted."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The counts up to and including a micro-batch."""

    batch: int
    since: int
    """The first micro-batch that is counted."""
    totals: Tally = field(default_factory=dict)
    tally: Tally = field(default_factory=dict)
    """The counts of this micro-batch alone."""
    keys: dict[str, int] = field(default_factory=dict)
    """Late rows of the worst keys; a key is a JSON object."""
    waits: dict[str, str] = field(default_factory=dict)
    """Text of each wait that the user gave, by the wait in microseconds."""
    epoch: int = 0
    written: float = 0.0
    """Time of writing, in seconds since 1970."""

    def after(self, batch: int, counts: Counted) -> Totals:
        """Return the totals after the next micro-batch, given its counts."""
        tally, keys = counts
        if batch == flush.NUMBER:
            # The stream has ended, and all held rows were released.
            ended = {name: -self.totals.get(name, 0) for name in (ROWS_HELD, WINDOWS_OPEN)}
            tally = {**tally, **ended}
        totals = added(self.totals, tally)
        return replace(self, batch=batch, totals=totals, tally=tally, keys=most(self.keys, keys))


Counted = tuple[Tally, dict[str, int]]
"""A tally, and late rows by key."""


class Recorder:
    """Writes the totals of a checkpoint, as its owner."""

    def __init__(self, owner: Owner, name: str, clock: ClockPolicy) -> None:
        """Begin; earlier records are read when the first micro-batch is done."""
        self._owner = owner
        self._waits = dict(zip(map(str, clock.waits), clock.wait_texts, strict=True))
        self._advice = Advice(name)
        self.last: Totals | None = None
        """The totals that this run wrote last; None before the first."""
        self._ledger: Ledger | None = None

    def write(self, spark: SparkSession, batch: int, counts: Counted) -> None:
        """Write the totals after a micro-batch."""
        # Finding the directory of a ledger takes Spark some time.
        self._ledger = ledger = self._ledger or _ledger(spark, self._owner.checkpoint)
        before = self.last
        if before is None or before.batch != batch - 1:
            before = _before(_read(ledger), batch)
        after = before.after(batch, counts)
        self.last = replace(after, waits=self._waits, epoch=self._owner.epoch, written=time.time())
        ledger.add(_slot(batch), asdict(self.last), is_synced=False)
        self._advice.heard(self.last.written, self.last.tally)


_published: WeakValueDictionary[str, Recorder] = WeakValueDictionary()
"""The recorders of queries that run in this process, by the id of the run.

A recorder lives as long as the function that Spark calls for each micro-batch. A driver that runs
one query after the other must not keep them all.
"""


def publish(run: str, recorder: Recorder) -> None:
    """Make the totals of a run visible to the listener in this process."""
    _published[run] = recorder


def published(run: str) -> Totals | None:
    """Return the totals of a run in this process; None if it runs elsewhere."""
    recorder = _published.get(run)
    return None if recorder is None else recorder.last


def of_parts(parts: Iterable[tuple[str, int, bytes | None]]) -> Counted:
    """Add up the counts of all buckets, given names of outputs, their rows, and tallies as JSON."""
    counts: list[tuple[str, int]] = []
    keys: Counter[str] = Counter()
    for output, rows, told in parts:
        if output != TALLY:
            counts.append((output, rows))
        elif told is not None:
            found, *of_keys = map(json.loads, bytes(told).splitlines())
            counts += found.items()
            for each in of_keys:
                keys.update(each)
    return tallied(counts), dict(keys)


def most(counts: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    """Add counts of keys, and keep the largest `KEPT` of them."""
    found = Counter(counts)
    found.update(more)
    if len(found) > KEPT:
        least = sorted(found.values(), reverse=True)[KEPT]
        found = Counter({key: count - least for key, count in found.items() if count > least})
    return dict(found.most_common())


def check(spark: SparkSession, checkpoint: str) -> None:
    """Write a record of what a checkpoint holds, if its last micro-batch was not counted.

    Then a release without totals has run it, or `migrate` has made it. Counting begins now.
    """
    ledger = _ledger(spark, checkpoint)
    counted = {each.batch for each in _read(ledger)}
    last = offset_log.last_done(spark, checkpoint)
    if last < 0 or last in counted:
        return
    found = held(spark, checkpoint)
    totals = {ROWS_HELD: found["rows"], WINDOWS_OPEN: found["windows"]}
    first = Totals(last, last + 1, totals, written=time.time())
    ledger.add(_slot(last), asdict(first), is_synced=False)


def read(spark: SparkSession, checkpoint: str, places: Places | None = None) -> list[Totals]:
    """Read all records of a checkpoint, the last micro-batch last; `places` is as for `Ledger`."""
    return _read(_ledger(spark, checkpoint, places))


def read_one(
    spark: SparkSession, checkpoint: str, batch: int, places: Places | None = None
) -> Totals | None:
    """Read the record of one micro-batch; None if there is none."""
    found = _read(_ledger(spark, checkpoint, places), _slot(batch))
    return next((each for each in reversed(found) if each.batch == batch), None)


def read_local(checkpoint: str | Path) -> list[Totals]:
    """Read all records of a checkpoint on a local file system, without Spark."""
    return _read(Ledger(None, str(Path(checkpoint) / "latecomer" / "totals")))


def _slot(batch: int) -> str:
    return "slot-end" if batch == flush.NUMBER else f"slot-{batch % SLOTS}"


def _read(ledger: Ledger, name: str = "") -> list[Totals]:
    """Read the records, the last micro-batch last; damaged ones are left out."""
    found = [Totals(**record) for record in ledger.read(name, is_strict=False)]
    return sorted(found, key=lambda each: (each.batch, each.epoch))


def _before(records: list[Totals], batch: int) -> Totals:
    """Return the totals before a micro-batch; without any, it is the first that is counted."""
    found = [each for each in records if each.batch < batch]
    if found and (found[-1].batch == batch - 1 or batch == flush.NUMBER):
        return found[-1]
    return Totals(batch - 1, batch)


def _ledger(spark: SparkSession, checkpoint: str, places: Places | None = None) -> Ledger:
    return Ledger(spark, f"{checkpoint}/latecomer/totals", places)

"""The clocks of the sources of a stream. The slowest one sets the clock of the stream.

One partition of a topic may be an hour behind, because its consumer was down or its producers are.
If the newest row of all partitions set the clock, every row of that one would be late. So a stream
can name the columns that identify its sources, and each source has a clock:

    partition   0     1     2         wait 5
    newest      40    12    38        the clock is at 12, the watermark at 7
    silent            idle            without partition 1: the clock is at 38, the watermark at 33

**A silent source** is left out after `idle`, by the wall clock, so that it does not hold up the
others. Its rows may be late when it comes back. When all sources are silent, the clock is that of
the fastest, and goes on by itself as fast as the wall clock (`clock.silence`). Without `idle` a
source is never left out.

**A source can make promises.** A row may carry the promise that no row before it will follow from
its source. The watermark of that source is then at least the time of that row, whatever the wait.

    watermark of a source     the larger of `newest - wait` and what it has promised
    watermark of the stream   the smallest of those of its sources

The rows of a micro-batch move the clock from the next one on, as with every clock here. In every
micro-batch with rows, each bucket receives the times of all sources, so that all buckets have the
same clock.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), whose punctuations are such
    promises.
Holds: the watermark never falls, even when a new source is behind all others: its rows are then
    late until it has caught up.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from latecomer.batch import is_true
from latecomer.clock.watermark import Clock, tick
from latecomer.errors import StateFormatError
from latecomer.time import NEVER

if TYPE_CHECKING:
    from latecomer.batch import Batch
    from latecomer.clock.policy import ClockPolicy
    from latecomer.time import TimeColumn, Times

_SOURCE, _NEWEST, _PROMISED = "source", "newest", "promised"
_TOLD = pa.schema({_SOURCE: pa.string(), _NEWEST: pa.int64(), _PROMISED: pa.int64()})


def promised(policy: ClockPolicy, time: TimeColumn, rows: Batch) -> Times:
    """Return what each row promises: its own time, or `NEVER` if it carries no promise."""
    times = time.micros(rows)
    if policy.promise is None or not rows.num_rows:
        return np.full(len(times), NEVER)
    return np.where(is_true(rows.column(policy.promise)), times, NEVER)


def told(policy: ClockPolicy, time: TimeColumn, rows: Batch) -> Batch:
    """Return the sources of rows, each with its newest time and what it has promised."""
    if not rows.num_rows:
        return _TOLD.empty_table()
    sources = list(policy.sources)
    # Reserved names, because a source column may be called "newest" or "promised".
    own = {"_lc_newest": time.micros(rows), "_lc_promised": promised(policy, time, rows)}
    columns = [*rows.select(sources).columns, *map(pa.array, own.values())]
    table = pa.table(columns, [*sources, *own])
    found = table.group_by(sources).aggregate([(name, "max") for name in own])
    newest, promises = (found.column(f"{name}_max") for name in own)
    values = found.select(sources).to_pylist() if sources else [{}]
    names = [json.dumps([*row.values()], default=str) for row in values]
    return pa.table([pa.array(names), newest, promises], schema=_TOLD)


@dataclass(slots=True)
class _Source:
    """The clock of one source."""

    newest: int = NEVER
    promised: int = NEVER
    since: int = 0
    """When its last rows came, in elapsed wall-clock time."""

    def watermark(self, wait: int) -> int:
        return max(tick(self.newest) - wait, self.promised)


@dataclass(slots=True)
class SourceClocks:
    """The clocks of all sources that have had rows."""

    sources: dict[str, _Source] = field(default_factory=dict)
    mark: int = NEVER
    """Watermark of the stream."""

    @classmethod
    def read(cls, saved: str | None) -> SourceClocks:
        """Return the clocks that `save` wrote, or new ones if `saved` is None.

        Raises:
            StateFormatError: The saved text is damaged.
        """
        if saved is None:
            return cls()
        digest, _, text = saved.partition(" ")
        if digest != _digest(text):
            raise StateFormatError(
                "the checkpoint holds clocks of sources that are damaged.\n"
                "Hint: restore the checkpoint from a backup, or start with a new one."
            )
        found: dict[str, Any] = json.loads(text)
        return cls({n: _Source(*each) for n, each in found["sources"].items()}, found["mark"])

    def save(self) -> str:
        sources = {name: astuple(each) for name, each in self.sources.items()}
        text = json.dumps({"mark": self.mark, "sources": sources})
        return f"{_digest(text)} {text}"

    def clock(self, policy: ClockPolicy, elapsed: int) -> Clock:
        """Return the clock of the stream, given the time that has passed by the wall clock."""
        if not self.sources:
            return Clock(NEVER, self.mark, elapsed)
        known, idle = self.sources.values(), policy.idle
        counting = [each for each in known if idle is None or elapsed - each.since < idle]
        if counting:
            newest = min(tick(each.newest) for each in counting)
            mark = min(each.watermark(policy.wait) for each in counting)
        else:
            lasted = elapsed - max(each.since for each in known)
            newest = tick(max(each.newest for each in known) + lasted)
            mark = max([newest - policy.wait, *(each.promised for each in known)])
        self.mark = max(self.mark, mark)
        return Clock(newest, self.mark, elapsed)

    def hear(self, rows: Batch, elapsed: int) -> None:
        """Update the clocks with what `told` returned for the rows of a micro-batch."""
        for row in rows.to_pylist():
            source = self.sources.setdefault(row[_SOURCE], _Source())
            source.newest = max(source.newest, row[_NEWEST])
            source.promised = max(source.promised, row[_PROMISED])
            source.since = elapsed


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

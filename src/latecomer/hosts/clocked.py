"""A stage for each key, with a clock of its own.

One device whose clock is a day ahead, or which was out of reach for an hour, makes all others late,
or itself, if there is one clock for all. With `disordered(..., clock="key")` each key has its own:
what is newest, what the watermark is and what is late is decided by the rows of that key alone.

    key a    10    12    30          newest of a: 30
    key b    11    13          12    newest of b: 13; the row at 12 is not late, whatever a says

So a query is what it would be if every key had a stream of its own, and that is how it is run: each
key has a `RunningStage`, which is driven by the clock of the key. Nothing else can move that clock;
so what a micro-batch makes due comes out in it, not in the next one.

To drive a stage for each key takes its time. Where the plan is simple enough, `hosts.together`
gives the same with one operator for all keys.

**Silent keys** are held for as long as they are silent, unless the stream is told after how long
they no longer count: with `idle`, a key is taken to be at least as far as the newest of all keys
less `idle`. A key that is not heard of and of which nothing is held is then forgotten.

Paper: Chandramouli et al.: Trill (VLDB 2014), partitioned streams; `idle` is its low watermark.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.batch import Batch, concat, decode, encode, gather
from latecomer.clock.watermark import Clock
from latecomer.hosts.envelope import APART, check_query, opened
from latecomer.hosts.stage import Output, RunningStage
from latecomer.operators.aggregates.slices import by_group
from latecomer.time import FOREVER, NEVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from latecomer.operators.base import Chunks
    from latecomer.plan.plan import Plan

Key = tuple[Any, ...]

_SLOT, _NEWEST, _DUE, _HELD, _SAVED = "_lc_slot", "_lc_newest", "_lc_due", "_lc_held", "_lc_saved"


@dataclass(slots=True)
class _Entry:
    """What is known of a key."""

    slot: int
    """Which chunks are its own."""
    newest: int = NEVER
    due: int | None = None
    """The smallest `newest` at which there will be something to do."""
    held: int = 0
    """How many rows, or states of rows, are held."""
    saved: bytes | None = None
    running: RunningStage | None = None


class ClockedStage:
    """The stages of all keys of a bucket; it is driven like a `RunningStage`."""

    def __init__(
        self,
        plan: Plan,
        schema: pa.Schema | None,
        chunks: Callable[[int], Sequence[Chunks]],
        saved: bytes | None = None,
    ) -> None:
        """Begin with no keys, or where `saved` left off.

        Args:
            plan: What the stream asks for; it has one stage.
            schema: The columns of the rows; None if none have come and the saved ones will do.
            chunks: Makes the chunks of a key, given its number.
            saved: What `save` returned.
        """
        self._plan = plan
        self._chunks = chunks
        self._entries: dict[Key, _Entry] = {}
        self._next_slot = 0
        if saved is not None:
            schema = self._load(saved, schema)
        if schema is None:
            message = "a stage without rows and without a saved state"
            raise AssertionError(message)
        self._schema = schema

    def step(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch] = ()
    ) -> Iterator[Output]:
        """Run one micro-batch. The clock is that of all keys together."""
        outputs: dict[str, list[Output]] = defaultdict(list)
        for key, rows in self._parted(concat(inputs[0], self._schema)):
            entry = self._entries.get(key) or self._added(key)
            newest = int(self._plan.source.time.micros(rows).max())
            for output in self._run(entry, clock, [rows]):
                outputs[output.name].append(output)
            entry.newest = max(entry.newest, newest)
        for key, entry in list(self._entries.items()):
            if self._is_due(entry, clock):
                for output in self._run(entry, clock, []):
                    outputs[output.name].append(output)
            if self._is_forgotten(entry, clock):
                if entry.running is not None:
                    # An operator may drop its chunks only when it is saved.
                    entry.running.save()
                del self._entries[key]
        yield from map(_joined, outputs.values())

    def due(self) -> int | None:
        """Tell the smallest newest time of all keys at which there will be something to do."""
        if self._idle is None:
            return None
        found = [
            entry.due + self._idle for entry in self._entries.values() if entry.due is not None
        ]
        return min(found, default=None)

    def save(self) -> bytes:
        """Write down all that is not in the chunks."""
        entries = list(self._entries.values())
        for entry in entries:
            if entry.running is not None:
                entry.saved = entry.running.save()
        names = self._plan.source.clock
        columns = [
            pa.array([key[at] for key in self._entries], self._schema.field(name).type)
            for at, name in enumerate(names)
        ]
        columns += [
            pa.array([entry.slot for entry in entries], pa.int64()),
            pa.array([entry.newest for entry in entries], pa.int64()),
            pa.array([entry.due for entry in entries], pa.int64()),
            pa.array([entry.held for entry in entries], pa.int64()),
            pa.array([entry.saved for entry in entries], pa.large_binary()),
        ]
        table = pa.table(columns, [*names, _SLOT, _NEWEST, _DUE, _HELD, _SAVED])
        header = json.dumps({"next": self._next_slot, **self._query}).encode()
        schema = self._schema.serialize().to_pybytes()
        table = table.replace_schema_metadata({b"header": header, b"rows": schema})
        return APART + b"\n" + encode(table, "lz4")

    @property
    def _idle(self) -> int | None:
        return self._plan.source.idle

    @property
    def _query(self) -> dict[str, Any]:
        """What must not change; all else is told by the stages."""
        return {"clock": list(self._plan.source.clock), "idle": self._idle}

    def _load(self, saved: bytes, schema: pa.Schema | None) -> pa.Schema:
        table = decode(opened(saved, APART))
        header = json.loads(table.schema.metadata[b"header"])
        check_query({name: header[name] for name in self._query}, self._query)
        self._next_slot = header["next"]
        names = self._plan.source.clock
        for row in table.to_pylist():
            key = tuple(row[name] for name in names)
            known = (row[name] for name in (_SLOT, _NEWEST, _DUE, _HELD, _SAVED))
            self._entries[key] = _Entry(*known)
        held = pa.ipc.read_schema(pa.py_buffer(table.schema.metadata[b"rows"]))
        # Where the columns have changed, the stage of a key says so.
        return held if schema is None else schema

    def _parted(self, rows: Batch) -> Iterator[tuple[Key, Batch]]:
        """Tell the rows of each key, in order of arrival."""
        if not rows.num_rows:
            return
        names = list(self._plan.source.clock)
        order, slices = by_group([rows.column(name) for name in names], rows.num_rows)
        rows = gather(rows, order)
        keys = gather(rows.select(names), slices.bounds[:-1]).to_pylist()
        for at, key in enumerate(keys):
            start, stop = int(slices.bounds[at]), int(slices.bounds[at + 1])
            yield tuple(key.values()), rows.slice(start, stop - start)

    def _added(self, key: Key) -> _Entry:
        entry = self._entries[key] = _Entry(self._next_slot)
        self._next_slot += 1
        return entry

    def _run(self, entry: _Entry, clock: Clock, rows: list[Batch]) -> Iterator[Output]:
        if entry.running is None:
            entry.running = RunningStage(
                self._plan, 0, self._schema, self._chunks(entry.slot), entry.saved
            )
        yield from entry.running.step(self._clock_of(entry, clock), [rows])
        entry.due, entry.held = entry.running.due(), entry.running.held

    def _clock_of(self, entry: _Entry, clock: Clock) -> Clock:
        """Read the clock of a key, given that of all."""
        if clock.watermark == FOREVER:
            return Clock(entry.newest, FOREVER)
        return Clock.at(max(entry.newest, self._least(clock)), self._plan.wait)

    def _least(self, clock: Clock) -> int:
        """Tell how far every key is at least."""
        if self._idle is None or clock.newest == NEVER:
            return NEVER
        return max(clock.newest - self._idle, NEVER)

    def _is_due(self, entry: _Entry, clock: Clock) -> bool:
        if clock.watermark == FOREVER:
            return True
        return entry.due is not None and self._clock_of(entry, clock).newest >= entry.due

    def _is_forgotten(self, entry: _Entry, clock: Clock) -> bool:
        """Tell whether a key is as one that never was."""
        is_behind = self._idle is not None and entry.newest <= self._least(clock)
        return is_behind and not entry.held


def _joined(outputs: list[Output]) -> Output:
    """Put what all keys put out into one."""
    batches = [output.batch for output in outputs if output.batch is not None]
    batch = pa.concat_tables(batches) if batches else None
    return Output(outputs[0].name, sum(output.rows for output in outputs), batch)

"""A clock for each key, and a chain for each.

With one clock for all, a device whose clock is a day ahead makes all others late, and a device that
was out of reach for an hour is late itself. With `disordered(..., clock="key")` each key has its
own clock: the newest time, the watermark and lateness depend on the rows of that key alone.

    key a    10    12    30          newest of a: 30
    key b    11    13          12    newest of b: 13; the row at 12 is not late, whatever a says

So the results are the same as if every key had a stream of its own, and that is how it is run: each
key has a chain, which is driven by the clock of the key. No other key can move that clock. So what
becomes due in a micro-batch is emitted in it, not in the next one.

A chain for each key is slow. For most plans `hosts.keyed_chain` gives the same results with each
operator once for all keys. Chains are left where streams meet, for optimistic steps, and for states
that were saved with them.

**Silent keys** keep their rows for as long as they are silent, unless the stream has `idle`. Then,
if a key has had no newer row for that long by the wall clock, its clock goes on by itself, as fast
as the wall clock. It stops when nothing of the key is held.

    wall clock   0    5    10   15   20   25   30    idle 20, wait 0, windows of 15
    newest of a  7    7    7    7    7    7    7
    clock of a   7    7    7    7    15   15   15    the window [0, 15) has closed
    newest of b  99   99   99   99   99   99   99    a device that is ahead makes no other late

So what a key held is released. A backlog that it sends afterwards is on time, except for rows of
windows already answered. The rows of a micro-batch are processed before its silence is counted.

A key that holds nothing is forgotten after ten times `idle`. If a row of it comes later still, it
is treated as the first row of a new key.

**Streams that meet** have the same columns for their clocks, and the clock of a key is the slowest
of its clocks in these streams. If a key has not occurred in one of them yet, its rows are held;
with `idle` its clock goes on without that stream.

Paper: Chandramouli et al.: Trill (VLDB 2014), partitioned streams. Its low watermark is the
    `newest` of the clock that a stage is given; hosts give none.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, fields
from math import isnan
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.batch import Batch, decode, encode, gather
from latecomer.clock.policy import FORGOTTEN
from latecomer.clock.source_clocks import promised
from latecomer.clock.watermark import Clock, tick
from latecomer.hosts.clocks.base import RunningPolicy, Turn
from latecomer.hosts.output import Output
from latecomer.operators.aggregates.slices import by_group
from latecomer.time import FOREVER, NEVER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from latecomer.hosts.chain import Chain
    from latecomer.plan import Plan

Key = tuple[Any, ...]
_NAN = float("nan")


@dataclass(slots=True)
class _Entry:
    """The clock of a key, and what it holds."""

    slot: int
    newest: int = NEVER
    """Newest time; of several streams that meet, that of the slowest."""
    due: int | None = None
    """The smallest `newest` at which there will be something to do."""
    held: int = 0
    """Number of rows, or states of rows, that are held."""
    since: int = 0
    """Arrival of the newest row, in time elapsed by the wall clock."""
    reached: int = NEVER
    """Time that the clock has reached by itself, or must keep so that its watermark never falls."""
    heard: list[int] = field(default_factory=list)
    """Newest time in each of the streams that meet."""

    @property
    def known(self) -> int:
        """Newest time in the slowest of the streams that have had this key."""
        return min((each for each in self.heard if each != NEVER), default=NEVER)


_NUMBERS = {each.name: f"_lc_{each.name}" for each in fields(_Entry) if each.name != "heard"}
_HEARD = "_lc_heard"


class PerKey(RunningPolicy):
    """The clocks of all keys of a bucket."""

    def __init__(self, plan: Plan, schema: pa.Schema, saved: bytes | None = None) -> None:
        super().__init__(plan)
        self._schema = schema
        self._names = list(plan.clock.columns)
        self._entries: dict[Key, _Entry] = {}
        self._gone: list[int] = []
        self._outputs: dict[str, list[Output]] = defaultdict(list)
        self._running = _Entry(0)
        """The key whose turn it is."""
        self._next_slot = 0
        if saved is not None:
            table = decode(saved)
            self._next_slot = int(table.schema.metadata[b"next"])
            longer = plan.clock.wait - int(table.schema.metadata.get(b"wait", plan.clock.wait))
            for row in table.to_pylist():
                key = _key(row[name] for name in self._names)
                numbers = {n: row[name] for n, name in _NUMBERS.items()}
                heard = row.get(_HEARD) or [numbers["newest"]]
                self._entries[key] = entry = _Entry(**numbers, heard=heard)
                if longer:
                    _go_on(entry, longer)

    def turns(
        self, clock: Clock, inputs: Sequence[Sequence[Batch]], states: Sequence[Batch]
    ) -> Iterator[Turn]:
        """Run the keys that have rows, then all that have something to do."""
        for key, rows in self._parted(inputs).items():
            entry = self._entries.get(key) or self._added(key)
            yield self._turn(entry, clock, rows)
            known = entry.known
            for number, (plan, batches) in enumerate(zip(self._plan.inputs, rows, strict=True)):
                times = (int(plan.source.time.micros(batch).max()) for batch in batches)
                entry.heard[number] = max([entry.heard[number], *times])
            entry.newest = min(entry.heard)
            self._keep_promises(entry, rows[0])
            if entry.known != known:
                entry.since = clock.elapsed
        for key, entry in list(self._entries.items()):
            if self._is_due(entry, clock):
                yield self._turn(entry, clock)
            yield from self._silence(entry, clock)
            if self._is_forgotten(entry, clock):
                self._gone.append(entry.slot)
                del self._entries[key]

    def ran(self, turn: Turn, chain: Chain) -> None:
        """Record what the key holds, and when it has something to do."""
        self._running.due, self._running.held = chain.due(), chain.held

    def held(self, chains: Mapping[int, Chain]) -> int:
        """Return the number of rows or states held by all keys, whether their chains ran or not."""
        return sum(entry.held for entry in self._entries.values())

    def output(self, turn: Turn, output: Output) -> Output | None:
        """Keep the output of a key until those of all keys can be put together."""
        self._outputs[output.name].append(output)
        return None

    def after(self, clock: Clock, inputs: Sequence[Sequence[Batch]]) -> Iterator[Output]:
        """Yield the outputs of all keys, put together."""
        outputs, self._outputs = self._outputs, defaultdict(list)
        yield from map(_together, outputs.values())

    def forgotten(self) -> Sequence[int]:
        """Return the slots of keys that were forgotten in this micro-batch."""
        gone, self._gone = self._gone, []
        return gone

    def due(self, chains: Mapping[int, Chain]) -> int | None:
        """Return None: rows move the clocks, and silence is measured in every micro-batch."""
        return None

    def save(self) -> bytes:
        """Return all keys, as a table."""
        entries = list(self._entries.values())
        columns = [
            pa.array([key[at] for key in self._entries], self._schema.field(name).type)
            for at, name in enumerate(self._names)
        ]
        columns += [
            pa.array([getattr(entry, name) for entry in entries], pa.int64()) for name in _NUMBERS
        ]
        table = pa.table(columns, [*self._names, *_NUMBERS.values()])
        if len(self._plan.inputs) > 1:
            heard = pa.array([entry.heard for entry in entries], pa.list_(pa.int64()))
            table = table.append_column(_HEARD, heard)
        known = {b"next": self._next_slot, b"wait": self._plan.clock.wait}
        table = table.replace_schema_metadata({n: str(v).encode() for n, v in known.items()})
        return encode(table, "lz4")

    def _parted(self, inputs: Sequence[Sequence[Batch]]) -> dict[Key, list[list[Batch]]]:
        """Split the rows of each stream by key, in order of arrival."""
        parted: dict[Key, list[list[Batch]]] = {}
        for number, (plan, batches) in enumerate(zip(self._plan.inputs, inputs, strict=True)):
            filled = [batch for batch in batches if batch.num_rows]
            if not filled:
                continue
            rows, names = pa.concat_tables(filled), list(plan.clock.columns)
            order, slices = by_group([rows.column(name) for name in names], rows.num_rows)
            rows = gather(rows, order)
            keys = gather(rows.select(names), slices.bounds[:-1]).to_pylist()
            for at, key in enumerate(keys):
                start, stop = int(slices.bounds[at]), int(slices.bounds[at + 1])
                own = parted.setdefault(_key(key.values()), [[] for _ in inputs])
                own[number].append(rows.slice(start, stop - start))
        return parted

    def _keep_promises(self, entry: _Entry, rows: Sequence[Batch]) -> None:
        """Move the clock of a key on until its watermark is at what the rows have promised."""
        policy = self._plan.clock
        if policy.promise is not None:
            for batch in rows:
                most = int(promised(policy, self._plan.source.time, batch).max(initial=NEVER))
                if most != NEVER:
                    entry.reached = max(entry.reached, min(most + policy.wait, FOREVER))

    def _added(self, key: Key) -> _Entry:
        heard = [NEVER for _ in self._plan.inputs]
        entry = self._entries[key] = _Entry(self._next_slot, heard=heard)
        self._next_slot += 1
        return entry

    def _turn(
        self, entry: _Entry, clock: Clock, rows: Sequence[Sequence[Batch]] | None = None
    ) -> Turn:
        self._running = entry
        nothing: list[list[Batch]] = [[] for _ in self._plan.inputs]
        return Turn(entry.slot, self._clock_of(entry, clock), rows or nothing)

    def _clock_of(self, entry: _Entry, clock: Clock) -> Clock:
        """Return the clock of a key, given the clock of the stage."""
        if clock.watermark == FOREVER:
            return Clock(entry.newest, FOREVER)
        newest = max(tick(max(entry.newest, clock.newest)), entry.reached)
        return Clock(newest, NEVER).with_wait(self._plan.clock.wait)

    def _silence(self, entry: _Entry, clock: Clock) -> Iterator[Turn]:
        """Move the clock of a silent key on, from one time that something is due to the next."""
        idle, lasted = self._plan.idle, clock.elapsed - entry.since
        if idle is None or lasted < idle or clock.watermark == FOREVER:
            return
        target = tick(min(max(entry.known, clock.newest) + lasted, FOREVER))
        while entry.held:
            due = target if entry.due is None else min(entry.due, target)
            if due <= entry.reached:
                break
            entry.reached = due
            yield self._turn(entry, clock)

    def _is_due(self, entry: _Entry, clock: Clock) -> bool:
        if clock.watermark == FOREVER:
            return True
        return entry.due is not None and self._clock_of(entry, clock).newest >= entry.due

    def _is_forgotten(self, entry: _Entry, clock: Clock) -> bool:
        """Return True for a key that has been silent for long and holds nothing."""
        idle = self._plan.idle
        return (
            idle is not None and clock.elapsed - entry.since > FORGOTTEN * idle and not entry.held
        )


def _key(values: Iterable[Any]) -> Key:
    """Return the values of a key. No NaN equals another, so each is replaced by the same one."""
    return tuple(_NAN if isinstance(each, float) and isnan(each) else each for each in values)


def _go_on(entry: _Entry, longer: int) -> None:
    """Move a key to a wait that is longer, or shorter, by `longer`: its watermark stays."""
    if entry.due is not None:
        entry.due += longer
    newest = max(tick(entry.newest), entry.reached)
    if newest != NEVER:
        entry.reached = newest + longer


def _together(outputs: list[Output]) -> Output:
    """Put the outputs of all keys, of one name, into one."""
    batches = [output.batch for output in outputs if output.batch is not None]
    batch = pa.concat_tables(batches) if batches else None
    return Output(outputs[0].name, sum(output.rows for output in outputs), batch)

"""Any step on rows in order, without a buffer before it: the state of a key, fed back.

    update(state, row) -> (state, outputs)

Each item of a key is followed by the state that `update` has made of it and all items before it. In
the paper a `grouping(2)` pairs that state with the next item, a map combines the two into the next
state, and this state goes back into the grouping:

    items and states      1 ─ s1 ─ 3 ─ s3          pairs   (s1 3)
    2 comes               1 ─ s1 ─ 2 ─ s2 ─ 3 ─ s3'        (s1 2) (s2 3)

An item in order costs one update. An item out of order costs an update for each item after it in
its key, because all their states were wrong.

**Few states are kept**: that of the last item, and one in `every` others. A key with few non-final
items keeps more, because items are held from a kept state on. An item out of order is run from the
last kept state before it, which costs at most `every` additional updates. If a later kept state
comes out unchanged, nothing after it changes, and the run stops there. So an item out of order that
does not change later states costs few updates.

The outputs of an item are kept beside it until the watermark has passed it, so that they can be
taken back. States are kept as bytes, so `update` may modify the state that it is given.

Before the watermark, the last kept state of each key is held, unless it is equal to `initial`. So a
function that returns to `initial` forgets the key.

Paper: Kuralenok, Marshalkin, Trofimov, Novikov: An Optimistic Approach to Handle Out-of-Order
    Events within Analytical Stream Processing (2018), Section V-C, Figure 6.
Departures: the cycle is run to its end for a whole micro-batch and key at a time, and items that it
    would emit and take back meanwhile are not emitted. States are kept for some items only. An
    output that stays the same is not taken back.
Holds: the valid outputs are those that `update` makes of the valid items in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.batch import Batch, Mask, Positions, gather
from latecomer.kernels.hashing import hash_columns, mixed
from latecomer.labels import named, value_label
from latecomer.operators.aggregates.base import one_array
from latecomer.operators.aggregates.slices import Slices
from latecomer.operators.base import Chunks, by
from latecomer.operators.optimistic.buckets import GONE, KEPT, BucketKeeper, Buckets, Merged
from latecomer.operators.optimistic.folding import Folded, fold
from latecomer.operators.optimistic.functions import content
from latecomer.operators.optimistic.items import (
    CHILD,
    HIDDEN,
    TRACE,
    are_new,
    children,
    identity,
    marks,
    shown,
    signed,
)
from latecomer.operators.optimistic.replays import Replay
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.operators.optimistic.written import frozen, thawed_all, thawed_numbers
from latecomer.time import TimeColumn

EVERY = 64
"""Number of items that share one kept state; measured by `python -m benchmarks.optimistic`."""

_STATE = f"{HIDDEN}state"
_OUTPUTS = f"{HIDDEN}outputs"


@dataclass(frozen=True, slots=True)
class Stateful(Optimistic):
    """Run `update` over the rows of each key, in order."""

    fixed = ("time", "key", "update", "initial", "outputs")

    time: TimeColumn
    key: tuple[str, ...]
    update: Callable[[Any, Any], tuple[Any, Any]]
    initial: Any
    outputs: pa.Schema
    every: int = EVERY

    def part(self, name: str) -> object:
        """Return a field; `initial` as a label, because a state may be of any class."""
        return value_label(self.initial) if name == "initial" else getattr(self, name)

    def describe(self, schema: pa.Schema) -> str:
        return (
            f"run {named(self.update)} over rows in order{by(self.key)}; rows that are not final "
            f"and one state in {self.every} are held, and a row out of order runs it again from "
            "the last such state before it"
        )

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of a result: time and key of the row, and the function's outputs."""
        names = dict.fromkeys((self.time.name, *self.key))
        child = pa.field(f"{CHILD}{len(children(schema))}", pa.int32())
        own = (schema.field(name) for name in names)
        return pa.schema([*own, *self.outputs, *marks(schema), child])

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> StateUpdater:
        return StateUpdater(self, schema, chunks, saved)


class StateUpdater(BucketKeeper):
    """A running `Stateful`."""

    def __init__(
        self, spec: Stateful, schema: pa.Schema, chunks: Chunks, saved: bytes | None
    ) -> None:
        self._spec = spec
        self._rows = shown(schema).names
        self._made = pa.list_(pa.struct([*spec.outputs, pa.field(TRACE, pa.int64())]))
        beside = [pa.field(_STATE, pa.binary()), pa.field(_OUTPUTS, self._made)]
        held = pa.schema([*schema, *beside])
        super().__init__(
            spec, schema, Buckets(spec.time, spec.key, held, chunks, saved, (_STATE, _OUTPUTS))
        )
        self._initial = frozen(spec.initial)
        self._initial_numbers = thawed_numbers(pa.array([self._initial], pa.binary()))
        self.updates = 0
        """Number of times that the function was run."""
        self.cancelled = 0
        """Number of items and tombstones that were not emitted, because outputs stayed the same."""

    def _changes(self, merged: Merged) -> Batch:
        """Run the function again from the first change on; return the changes in its outputs."""
        is_final = self._spec.time.micros(merged.items) < self._buckets.watermark
        # The last place is that of new items, whose position is -1.
        has_state = np.append(np.asarray(merged.beside[_STATE].is_valid()), False)[merged.at]
        replay = Replay.of(merged, has_state, is_final, self._spec.every)
        folded = self._folded(merged, replay)
        made = folded.made.append_column(
            TRACE, pa.array(self._traces(merged.items, replay, folded))
        )
        fields = list(self._made.value_type)
        struct = pa.StructArray.from_arrays(map(one_array, made.columns), fields=fields)
        items = self._rewritten(merged, replay, folded, struct)
        # Old outputs are those of items that were run again, and of items that are gone.
        is_redone = np.zeros(len(merged.status), np.bool_)
        is_redone[replay.rows[folded.is_redone]] = True
        was = np.flatnonzero((merged.status == GONE) | ((merged.status == KEPT) & is_redone))
        place = self._places(items) if len(was) else np.arange(items.num_rows)
        old = _Outputs.beside(merged.beside[_OUTPUTS], merged.at[was], was, place)
        new = _Outputs.of_items(struct, folded.counts, replay.rows[folded.is_redone], place)
        changes = self._differences(merged.items, old, items, new)
        self._buckets.keep(merged, items)
        return changes

    def _places(self, items: Batch) -> Positions:
        """Number items in order; two versions of an item, the old and the new one, are equal."""
        return np.cumsum(are_new(identity(items, self._spec.time)[:-1]), dtype=np.int64)

    def _folded(self, merged: Merged, replay: Replay) -> Folded:
        states = merged.beside[_STATE]
        found = states.take(pa.array(merged.at[replay.begins], mask=replay.begins < 0))
        begins = found.fill_null(self._initial)
        told = pa.nulls(len(replay.rows), pa.binary())
        if replay.is_behind.any():
            told = states.take(pa.array(merged.at[replay.rows], mask=~replay.is_behind))
        rows = gather(merged.items.select(self._rows), replay.rows)
        folded = fold(self._spec.update, self._spec.outputs, rows, replay, begins, told)
        self.updates += int(np.count_nonzero(folded.is_run))
        return folded

    def _rewritten(
        self, merged: Merged, replay: Replay, folded: Folded, made: pa.StructArray
    ) -> Batch:
        """Return the items with new states and outputs beside them."""
        offsets = np.concatenate([[0], np.cumsum(folded.counts)]).astype(np.int32)
        outputs = pa.ListArray.from_arrays(pa.array(offsets), made, type=self._made)
        run, redone = replay.rows[folded.is_run], replay.rows[folded.is_redone]
        is_kept = replay.is_kept[folded.is_run]
        is_null = replay.is_cleared.copy()
        is_null[run[~is_kept]] = True
        states = _replaced(merged, _STATE, run[is_kept], folded.states, is_null)
        items = merged.items.append_column(_STATE, states)
        return items.append_column(_OUTPUTS, _replaced(merged, _OUTPUTS, redone, outputs))

    def _traces(self, items: Batch, replay: Replay, folded: Folded) -> Positions:
        """Return hashes of outputs and keys: the next version of a row may have another key."""
        lengths = replay.slices.lengths
        firsts = replay.rows[replay.slices.bounds[:-1][lengths > 0]]
        keys = gather(items.select(self._spec.key), firsts).columns
        of_row = np.repeat(hash_columns(keys, len(firsts)), lengths[lengths > 0])
        of_output = np.repeat(of_row[folded.is_redone], folded.counts)
        own = content(folded.made).view(np.uint64)
        return mixed(own * np.uint64(31) + of_output).view(np.int64)

    def _differences(self, before: Batch, old: _Outputs, after: Batch, new: _Outputs) -> Batch:
        """Return tombstones of old outputs, and new outputs, without those that stay the same."""
        if not len(old.of):
            return self._as_items(after, new, np.ones(len(new.of), np.bool_), 1)
        is_same_old, is_same_new = old.same(new)
        self.cancelled += int(2 * np.count_nonzero(is_same_old))
        taken = self._as_items(before, old, ~is_same_old, -1)
        said = self._as_items(after, new, ~is_same_new, 1)
        return pa.concat_tables([taken, said])

    def _as_items(self, items: Batch, outputs: _Outputs, mask: Mask, sign: int) -> Batch:
        made, of = outputs.made, outputs.of
        if not mask.all():
            made, of = made.filter(pa.array(mask)), of[mask]
        names = [name for name in self._out.names if name in items.column_names]
        rows = signed(gather(items.select(names), of), sign)
        columns = {name: rows.column(name) for name in names}
        for number, field in enumerate(self._made.value_type):
            columns[field.name] = made.field(number)
        columns[self._out.names[-1]] = pa.array(outputs.child[mask].astype(np.int32))
        return pa.table([columns[name] for name in self._out.names], schema=self._out)

    def _needed(self, items: Batch, slices: Slices, is_final: Mask) -> tuple[Mask, Batch]:
        """Keep the items of each key from its last kept state before the watermark on."""
        states = one_array(items.column(_STATE))
        last = slices.last(is_final & np.asarray(states.is_valid()))
        is_needed = np.arange(items.num_rows) >= slices.spread(last)
        found = last[last >= 0]
        is_needed[found[self._are_initial(states.take(pa.array(found)))]] = False
        at, number = np.flatnonzero(is_needed), items.schema.get_field_index(_OUTPUTS)
        # Outputs that are final are never taken back, so they are dropped.
        outputs = one_array(items.column(_OUTPUTS)).take(pa.array(at, mask=is_final[at]))
        kept = gather(items.drop_columns([_OUTPUTS]), at)
        return is_needed, kept.add_column(number, items.schema.field(number), outputs)

    def _are_initial(self, written: pa.BinaryArray) -> Mask:
        """Mark the states that are equal to the initial one.

        Values are compared: 0.0 is equal to 0, and the order of a dict does not matter.
        """
        is_same = np.asarray(pc.equal(written, self._initial))
        numbers, initial = thawed_numbers(written), self._initial_numbers
        if numbers is None or initial is None:
            states = thawed_all(written.to_pylist())
            is_equal = [_is_equal(state, self._spec.initial) for state in states]
            return is_same | np.array(is_equal, np.bool_)
        if (numbers.is_tuple, len(numbers.columns)) != (initial.is_tuple, len(initial.columns)):
            return is_same
        pairs = zip(numbers.columns, initial.columns, strict=True)
        return is_same | np.logical_and.reduce([column == value for column, value in pairs])


def _is_equal(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - a state may be of any class, such as an array
        return False


class _Outputs(NamedTuple):
    """The outputs of some items, one after the other."""

    made: pa.StructArray
    of: Positions
    """Item of each output."""
    child: Positions
    """Number of each output among those of its item."""
    place: Positions
    """Place of each output's item among all items; ascending."""

    @classmethod
    def beside(
        cls, held: pa.ListArray, at: Positions, items: Positions, place: Positions
    ) -> _Outputs:
        """Return the outputs of items that are held at these positions."""
        lists = held.take(pa.array(at))
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
        return cls.of_items(lists.flatten(), lengths, items, place)

    @classmethod
    def of_items(
        cls, made: pa.StructArray, lengths: Positions, at: Positions, place: Positions
    ) -> _Outputs:
        """Return outputs, given how many each of the items `at` has."""
        starts = np.cumsum(lengths) - lengths
        child = np.arange(lengths.sum()) - np.repeat(starts, lengths)
        of = np.repeat(at, lengths)
        return cls(made, of, child, place[of])

    def same(self, other: _Outputs) -> tuple[Mask, Mask]:
        """Mark the outputs that both have: in these outputs, and in the other ones."""
        width = max(self.child.max(initial=0), other.child.max(initial=0)) + 1
        mine, theirs = self.place * width + self.child, other.place * width + other.child
        # Both ascend.
        at = np.minimum(np.searchsorted(theirs, mine), max(len(theirs) - 1, 0))
        is_same = np.zeros(len(mine), np.bool_)
        if len(theirs):
            is_same = (theirs[at] == mine) & (other._traces()[at] == self._traces())
        is_same_other = np.zeros(len(theirs), np.bool_)
        is_same_other[at[is_same]] = True
        return is_same, is_same_other

    def _traces(self) -> Positions:
        traces: Positions = self.made.field(self.made.type.num_fields - 1).to_numpy()
        return traces


def _replaced(
    merged: Merged, name: str, at: Positions, values: pa.Array, is_cleared: Mask | None = None
) -> pa.Array:
    """Return a column beside items, with values replaced, and set to null where `is_cleared`."""
    held, places = merged.beside[name], merged.at.copy()
    places[at] = len(held) + np.arange(len(at))
    is_null = places < 0 if is_cleared is None else (places < 0) | is_cleared
    return pa.concat_arrays([held, values]).take(pa.array(places, mask=is_null))

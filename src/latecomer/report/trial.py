"""Run a plan over recorded rows, and compare its answers with those of a plan that misses nothing.

    rows, in order of arrival ─┬─ cut into micro-batches ─▶ the answers that would have been given
                               └─ all at once ────────────▶ the true answers: no row is late

Answers of windows are paired by window and key, and compared value by value. An answer that is
computed from all of its rows is right, even if the last digits of a sum, or an estimate, differ.
For any other query whole rows are compared: a row that only one of the two results has is wrong.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.batch import Batch, Mask, Positions, concat, gather
from latecomer.clock.watermark import tick
from latecomer.hosts.local import LocalHost
from latecomer.operators.aggregates.slices import Slices, by_group
from latecomer.operators.windows.bounds import WINDOW
from latecomer.plan import Plan
from latecomer.time import NEVER, TimeColumn, Times

CLOSE = 1e-9
"""Largest relative difference between equal floating-point results, whose rows may have been added
in another order."""
_SEEN = "_lc_seen"
"""Name of an additional result: the number of rows that an answer was computed from."""


@dataclass(frozen=True, slots=True)
class Error:
    """The errors of one aggregate, over its wrong values."""

    wrong: int
    """Number of wrong values."""
    mean: float | None = None
    """Mean absolute error; None if no value is wrong, or the values are not numbers."""
    largest: float | None = None
    mean_relative: float | None = None
    """Mean error as a share of the true value, where that is not 0."""
    largest_relative: float | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """The result that one wait, or one recall, would have had."""

    rows: int
    """Rows with a usable time."""
    late: int
    answers: int
    """Number of true answers: those of a query that misses no row."""
    wrong: int
    """Number of true answers that would have been different or missing."""
    missing: int
    """Number of true answers that would have been missing."""
    unexpected: int
    """Number of additional answers that are not true; always 0 for windows."""
    windows: int | None
    """Number of windows; None if the query has none."""
    wrong_windows: int | None
    """Number of windows with a wrong answer."""
    errors: Mapping[str, Error]
    """Errors by aggregate, without missing answers."""
    average_wait: float
    """Average wait, in microseconds."""
    later: float | None
    """Average time from the end of an answer's window, or from its time, to the newest row when it
    is emitted, in microseconds; None if no answer came before the end of the recording."""
    latest: float | None
    """Largest such time, in microseconds."""
    held: float
    """Average number of rows, or states of rows, held after a micro-batch."""
    most_held: int


class Truth(NamedTuple):
    """The answers of a query that misses no row."""

    ready: Batch
    keys: tuple[str, ...]
    """The columns that identify an answer; empty if whole rows are compared."""


def truth(plan: Plan, rows: Batch) -> Truth:
    """Return the answers of a plan to all rows at once: in the first micro-batch no row is late."""
    plan = _counting(plan)
    host = LocalHost(plan, rows.schema)
    ready = concat([host.step(rows).ready, host.finish().ready], plan.output_schema(rows.schema))
    return Truth(ready, plan.stages[-1].operators[-1].about)


def tried(plan: Plan, batches: Iterable[Batch], true: Truth) -> Trial:
    """Run a plan over micro-batches, and return its comparison with the true answers."""
    plan, host = _counting(plan), None
    newest, rows, late = NEVER, 0, 0
    ready, laters, held, waits = [], [], [], list(plan.clock.waits)
    for batch in batches:
        host = host or LocalHost(plan, batch.schema)
        step = host.step(batch)
        ready.append(step.ready)
        if newest != NEVER:
            laters.append(tick(newest) - _abouts(plan, step.ready))
        held.append(host.held)
        rows += batch.num_rows - step.late.num_rows
        late += step.dropped
        waits += [1_000 * millis for millis in step.recall["wait"].drop_null().to_pylist()]
        newest = int(plan.source.time.micros(batch, null=newest).max(initial=newest))
    if host is not None:
        ready.append(host.finish().ready)
    found = concat(ready, true.ready.schema)
    later = np.concatenate([np.zeros(0, np.int64), *laters])
    return Trial(
        rows=rows,
        late=late,
        answers=true.ready.num_rows,
        average_wait=float(np.mean(waits)) if waits else 0.0,
        later=float(later.mean()) if len(later) else None,
        latest=float(later.max()) if len(later) else None,
        held=float(np.mean(held)) if held else 0.0,
        most_held=max(held, default=0),
        **(_paired(true, found) if true.keys else _counted(true, found)),
    )


def _counting(plan: Plan) -> Plan:
    """Return a plan that counts late rows, and the rows that each answer of a window is from."""
    *before, last = plan.stages[-1].operators
    stage = replace(plan.stages[-1], operators=(*before, last.counting(_SEEN)))
    return replace(plan, late="drop").with_last(stage)


def _abouts(plan: Plan, ready: Batch) -> Times:
    """Return the time of each answer: the end of its window, or its own time."""
    time = plan.source.time
    if WINDOW in ready.column_names:
        ends = pc.struct_field(ready[WINDOW], "end")
        return TimeColumn("end", time.unit).micros(pa.table({"end": ends}))
    if time.name in ready.column_names:
        return time.micros(ready)
    return np.zeros(0, np.int64)


def _paired(true: Truth, found: Batch) -> dict[str, Any]:
    """Return the comparison of the answers of windows, value by value."""
    names = [name for name in true.ready.column_names if name not in (*true.keys, _SEEN)]
    first, second, alone = _pairs(true.ready, found, true.keys)
    if _SEEN in found.column_names:
        seen = [true.ready[_SEEN].to_numpy()[first], found[_SEEN].to_numpy()[second]]
        first, second = first[seen[0] != seen[1]], second[seen[0] != seen[1]]
    wrong = np.zeros(len(first), np.bool_)
    errors = {}
    for name in names:
        is_wrong, errors[name] = _error(true.ready[name].take(first), found[name].take(second))
        wrong |= is_wrong
    starts = pc.struct_field(true.ready[WINDOW], "start")
    bad = pa.concat_arrays([pa.array(first[wrong]), pa.array(alone)])
    return {
        "wrong": int(wrong.sum()) + len(alone),
        "missing": len(alone),
        "unexpected": 0,
        "windows": pc.count_distinct(starts).as_py(),
        "wrong_windows": pc.count_distinct(starts.take(bad)).as_py(),
        "errors": errors,
    }


def _counted(true: Truth, found: Batch) -> dict[str, Any]:
    """Return the comparison of whole rows."""
    slices, is_found = _groups(true.ready, found, true.ready.column_names)[1:]
    given = slices.reduce(np.add, is_found.astype(np.int64), 0)
    asked = slices.lengths - given
    missing = int(np.maximum(asked - given, 0).sum())
    unexpected = int(np.maximum(given - asked, 0).sum())
    counts = {"wrong": missing, "missing": missing, "unexpected": unexpected}
    return {**counts, "windows": None, "wrong_windows": None, "errors": {}}


def _pairs(
    true: Batch, found: Batch, keys: tuple[str, ...]
) -> tuple[Positions, Positions, Positions]:
    """Return positions of paired answers, true and found, and of true answers without a pair."""
    order, slices, _ = _groups(true, found, keys)
    starts, is_pair = slices.bounds[:-1], slices.lengths > 1
    firsts = order[starts]
    return firsts[is_pair], order[starts[is_pair] + 1] - true.num_rows, firsts[~is_pair]


def _groups(true: Batch, found: Batch, names: Iterable[str]) -> tuple[Positions, Slices, Mask]:
    """Return equal rows of both in groups, true rows first, and a mask of the rows found."""
    both = pa.concat_tables([true, found.cast(true.schema)])
    order, slices = by_group([_plain(both[name]) for name in names], both.num_rows)
    return order, slices, order >= true.num_rows


def _error(true: pa.ChunkedArray, found: pa.ChunkedArray) -> tuple[Mask, Error]:
    """Return which values of one aggregate are wrong, and their errors."""
    kind = true.type
    texts = [_plain(values) for values in (true, found)]
    is_null = [np.asarray(values.is_null()) for values in texts]
    is_same = np.asarray(pc.fill_null(pc.equal(*texts), fill_value=False)) | (
        is_null[0] & is_null[1]
    )
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not is_number:
        return ~is_same, Error(int((~is_same).sum()))
    values = [np.asarray(each.cast(pa.float64()).fill_null(np.nan)) for each in (true, found)]
    with np.errstate(all="ignore"):
        gaps = np.abs(values[1] - values[0])
        if pa.types.is_floating(kind):
            is_same |= np.isnan(values[0]) & np.isnan(values[1]) & (is_null[0] == is_null[1])
            is_same |= gaps <= CLOSE * np.abs(values[0])
        shares = gaps / np.abs(values[0])
    off, relative = (each[~is_same & np.isfinite(each)] for each in (gaps, shares))
    return ~is_same, Error(int((~is_same).sum()), *_mean_and_max(off), *_mean_and_max(relative))


def _mean_and_max(values: np.ndarray) -> tuple[float | None, float | None]:
    return (float(values.mean()), float(values.max())) if len(values) else (None, None)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values in a form that can be compared: windows by start, nested values as text."""
    if pa.types.is_struct(column.type) and {"start", "end"} == {f.name for f in column.type}:
        return pc.struct_field(column, "start")
    if not pa.types.is_nested(column.type):
        return column
    return pa.chunked_array([pa.array(map(repr, column.to_pylist()), pa.string())])


def in_arrival_order(rows: Batch, plan: Plan) -> Batch:
    """Return rows sorted by arrival, if there is such a column; rows without one come last."""
    arrival = plan.source.arrival
    if arrival is None:
        return rows
    return gather(rows, np.lexsort((arrival.micros(rows), arrival.is_null(rows))))

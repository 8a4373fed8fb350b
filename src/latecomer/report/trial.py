"""Run a plan over recorded rows, and compare its answers with those of a plan that misses nothing.

    rows, in order of arrival ─┬─ cut into micro-batches ─▶ the answers that would have been given
                               └─ all at once ────────────▶ the true answers: no row is late

Answers of windows are paired by window and key, and compared value by value. An answer that has
seen all of its rows is right, whatever the last digits of a sum, or an estimate, are. Rows of any
other query are compared as a whole: a row of the one that the other does not have is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.batch import Batch, concat, gather
from latecomer.clock.watermark import tick
from latecomer.hosts.local import LocalHost
from latecomer.operators.aggregates.slices import by_group
from latecomer.operators.windows.bounds import WINDOW
from latecomer.time import NEVER, TimeColumn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from latecomer.batch import Mask, Positions
    from latecomer.operators.aggregates.slices import Slices
    from latecomer.plan import Plan
    from latecomer.time import Times

CLOSE = 1e-9
"""Floating-point results that differ by a smaller share are equal: their rows were added in another
order."""
_SEEN = "_lc_seen"
"""A result besides those asked for: how many rows an answer has seen."""


@dataclass(frozen=True, slots=True)
class Error:
    """How wrong the values of one aggregate are; the errors are those of the wrong values."""

    wrong: int
    mean: float | None = None
    """The mean of what they are off by; None if no value is wrong, or they are no numbers."""
    largest: float | None = None
    mean_relative: float | None = None
    """The mean of what they are off by as a share of the true value, where that is not 0."""
    largest_relative: float | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """What would have come of one wait, or one recall."""

    rows: int
    """Rows with a usable time."""
    late: int
    answers: int
    """How many answers a query gives that misses no row."""
    wrong: int
    """How many of them would have been another one, or none."""
    missing: int
    """How many would not have been given: all their rows were late."""
    unexpected: int
    """How many would have been given that are no true ones; of windows always 0."""
    windows: int | None
    """How many windows there are; None if the query has none."""
    wrong_windows: int | None
    """How many of them have a wrong answer."""
    errors: Mapping[str, Error]
    """By aggregate; answers that are missing are not among them."""
    average_wait: float
    """In microseconds."""
    later: float | None
    """How far beyond the end of its window, or its time, the newest row is when an answer comes, on
    average and in microseconds; None if no answer came before the end of the recording."""
    latest: float | None
    """The same at the most."""
    held: float
    """Rows, or states of rows, that are held after a micro-batch, on average."""
    most_held: int


class Truth(NamedTuple):
    """The answers of a query that misses no row."""

    ready: Batch
    keys: tuple[str, ...]
    """The columns that say what an answer is about; none if rows are compared as a whole."""


def truth(plan: Plan, rows: Batch) -> Truth:
    """Run a plan over all rows at once: nothing is late before a clock is there."""
    plan = _counting(plan)
    host = LocalHost(plan, rows.schema)
    ready = concat([host.step(rows).ready, host.finish().ready], plan.output_schema(rows.schema))
    return Truth(ready, plan.stages[-1].operators[-1].about)


def tried(plan: Plan, batches: Iterable[Batch], true: Truth) -> Trial:
    """Run a plan over micro-batches, and compare."""
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
    """Let late rows be counted, and windows the rows that their answers have seen."""
    *before, last = plan.stages[-1].operators
    stage = replace(plan.stages[-1], operators=(*before, last.counting(_SEEN)))
    return replace(plan, late="drop").with_last(stage)


def _abouts(plan: Plan, ready: Batch) -> Times:
    """Return what time answers are about: the end of their window, or their own time."""
    time = plan.source.time
    if WINDOW in ready.column_names:
        ends = pc.struct_field(ready[WINDOW], "end")
        return TimeColumn("end", time.unit).micros(pa.table({"end": ends}))
    if time.name in ready.column_names:
        return time.micros(ready)
    return np.zeros(0, np.int64)


def _paired(true: Truth, found: Batch) -> dict[str, Any]:
    """Compare the answers of windows, value by value."""
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
    """Compare rows as a whole."""
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
    """Pair answers: where the true ones are, where those found are; and true ones without any."""
    order, slices, _ = _groups(true, found, keys)
    starts, is_pair = slices.bounds[:-1], slices.lengths > 1
    firsts = order[starts]
    return firsts[is_pair], order[starts[is_pair] + 1] - true.num_rows, firsts[~is_pair]


def _groups(true: Batch, found: Batch, names: Iterable[str]) -> tuple[Positions, Slices, Mask]:
    """Put equal rows of both together, the true ones first; and mark those that were found."""
    both = pa.concat_tables([true, found.cast(true.schema)])
    order, slices = by_group([_plain(both[name]) for name in names], both.num_rows)
    return order, slices, order >= true.num_rows


def _error(true: pa.ChunkedArray, found: pa.ChunkedArray) -> tuple[Mask, Error]:
    """Compare the values of one aggregate."""
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
    """Write values so that equal ones can be found: a window by its start, other lists as text."""
    if pa.types.is_struct(column.type) and {"start", "end"} == {f.name for f in column.type}:
        return pc.struct_field(column, "start")
    if not pa.types.is_nested(column.type):
        return column
    return pa.chunked_array([pa.array(map(repr, column.to_pylist()), pa.string())])


def in_arrival_order(rows: Batch, plan: Plan) -> Batch:
    """Sort rows by their arrival, if the stream says when that was; those without one come last."""
    arrival = plan.source.arrival
    if arrival is None:
        return rows
    return gather(rows, np.lexsort((arrival.micros(rows), arrival.is_null(rows))))

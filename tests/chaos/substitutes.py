"""Python versions of Spark SQL expressions that the simulated DataFrames do not support."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from latecomer.hosts.entry import admit
from latecomer.hosts.late import AHEAD
from latecomer.hosts.spark.driver.partials import DELAY, NEWEST, TOO_FAR
from latecomer.hosts.spark.parcels import NOW
from latecomer.hosts.tally import TALLY
from latecomer.operators.aggregates.summary import PANE, ROWS
from latecomer.operators.optimistic.changelog import CHANGE_NUMBER, CHANGE_TYPE
from latecomer.time import parse_duration
from tests.chaos.columns import Column
from tests.chaos.frames import Frame, Parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from latecomer.clock.watermark import Clock
    from latecomer.operators.windows.aggregate import Aggregation
    from latecomer.plan import Plan
    from tests.chaos.streams import Run


class AtOnce:
    """A thread that runs to its end in `start`."""

    def __init__(
        self, target: Callable[..., None], args: tuple[Any, ...], **_options: bool
    ) -> None:
        self._target, self._args = target, args

    def start(self) -> None:
        self._target(*self._args)


def small_parts(packed: Frame) -> list[Any]:
    """Collect the parts of a micro-batch, without late rows, as if there were many of those."""
    rows = packed.select("output", "rows", "blob").collect()
    small = ("ready", TALLY)
    return [
        SimpleNamespace(
            output=row.output, rows=row.rows, blob=row.blob if row.output in small else None
        )
        for row in rows
    ]


def in_turn(actions: Sequence[Callable[[], object]]) -> None:
    """Run actions from the last to the first, as may happen if they run at the same time."""
    for action in reversed(actions):
        action()


def partials(
    rows: Frame, _schema: pa.Schema, plan: Plan, _spec: Aggregation, _newest: int, now: int
) -> Frame:
    """Return the partial states of rows. Those of rows without a usable time have no pane."""

    def compute(run: Run | None, first: int) -> Parts:
        read = pa.concat_tables(rows.parts(run, first))
        kept, aside = admit(plan, read, np.full(read.num_rows, now))
        states = plan.early.partial(kept)  # type: ignore[union-attr]
        newest = max(plan.source.time.micros(kept).tolist(), default=None)
        for name, value in ((NEWEST, newest), (TOO_FAR, 0), (DELAY, 0)):
            states = states.append_column(
                name, pa.repeat(pa.scalar(value, pa.int64()), len(states))
            )
        if aside.num_rows:
            is_ahead = aside.column("_reason").to_pylist().count(AHEAD)
            empty = dict.fromkeys(states.column_names)
            unusable = ((aside.num_rows - is_ahead, 0), (is_ahead, 1))
            without = [empty | {ROWS: count, TOO_FAR: far} for count, far in unusable if count]
            states = pa.concat_tables([states, pa.Table.from_pylist(without, states.schema)])
        return [states]

    return Frame(rows.sparkSession, pa.schema([(PANE, pa.int64())]), compute, (rows,))


def may_be_late(rows: Frame, _plan: Plan, _clock: Clock, now: int) -> Frame:
    """Return all rows, with the wall clock."""
    clock = Column(lambda read, _now: pa.repeat(pa.scalar(now, pa.int64()), read.num_rows), "now")
    return rows.withColumn(NOW, clock)


def part_of(_schema: object, key: Sequence[str]) -> Column:
    """Return the part of a table that a row belongs to. Each part has several windows."""

    def of(rows: pa.Table, _now: int) -> pa.Array:
        windows = [name for name in key if pa.types.is_struct(rows.schema.field(name).type)]
        if not windows:
            return pa.array(["all"] * rows.num_rows, pa.string())
        starts = [each["start"] for each in rows.column(windows[0]).to_pylist()]
        return pa.array([str(int(each.timestamp()) // 20) for each in starts], pa.string())

    return Column(of, "part")


def one_per_key(rows: Frame, key: Sequence[str], *_then: object) -> Frame:
    """Keep the row of the longest wait of each key; of equal waits a new one, not a deletion."""

    def rank(row: dict[str, Any]) -> tuple[Any, ...]:
        return (
            parse_duration(row["wait"], "wait") if "wait" in row else 0,
            row.get("_lc_is_new", 0),
            row.get(CHANGE_TYPE) != "delete",
            row.get(CHANGE_NUMBER, 0),
            row.get("is_correction", False),
        )

    def compute(run: Run | None, first: int) -> Parts:
        table = pa.concat_tables(rows.parts(run, first))
        best: dict[str, dict[str, Any]] = {}
        for row in sorted(table.to_pylist(), key=rank):
            best[repr([row[name] for name in key])] = row
        return [pa.Table.from_pylist(list(best.values()), table.schema)]

    return Frame(rows.sparkSession, rows.arrow, compute, (rows,))

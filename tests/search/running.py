"""Run a plan on the local host, and read its output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from latecomer.hosts.local import LocalHost, Step
from latecomer.plan import Plan

if TYPE_CHECKING:
    from tests.search.streams import Columns, Row


def steps(
    plan: Plan, columns: Columns, batches: Sequence[Sequence[Row]], pace: int
) -> Iterator[Step]:
    """Run all micro-batches, `pace` microseconds apart, and then the end of the stream."""
    host, first = LocalHost(plan, columns.schema), 0
    for at, rows in enumerate(batches):
        yield host.step(columns.table(rows, first), now=at * pace)
        first += len(rows)
    yield host.finish()


def late(step: Step, columns: Columns) -> list[tuple[int, str]]:
    """Return the number and the reason of each late row."""
    return sorted((row[columns.number], row["_reason"]) for row in step.late.to_pylist())

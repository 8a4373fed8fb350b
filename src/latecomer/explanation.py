"""Tell what a plan does, in words: which stages there are, what runs in each, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.join import Join
from latecomer.plan import Meeting
from latecomer.time import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from latecomer.operators.base import Operator
    from latecomer.plan import Plan


def explained(plan: Plan) -> str:
    """Describe a plan, one line for each thing that runs."""
    return "\n".join(_lines(plan, ""))


def _lines(plan: Plan, margin: str) -> Iterator[str]:
    source = plan.source
    yield (
        f"{margin}stream {source.number}: rows by {source.time.name}, "
        f"wait {', '.join(map(format_duration, plan.waits))}; "
        "filters and columns run in Spark SQL before"
    )
    for number, stage in enumerate(plan.stages):
        how = "packed by key" if number == 0 else "packed again, by another key"
        key = ", ".join(stage.key) or "nothing: one bucket"
        if stage.everywhere:
            key, how = "nothing", "sent to all buckets"
        yield f"{margin}  stage {number + 1}, by {key} ({how})"
        for operator in stage.operators:
            yield f"{margin}    {_named(operator)}"
            if isinstance(operator, Meeting):
                yield from _lines(operator.right, margin + "      ")


def _named(operator: Operator) -> str:
    if isinstance(operator, Meeting):
        return f"{operator.operator.label}: {_reason(operator.operator)}"
    reason = _reason(operator)
    return f"{operator.label}: {reason}" if reason else operator.label


def _reason(operator: object) -> str:
    if isinstance(operator, SnapshotAggregate):
        return "states are added and taken away where they are whole numbers, else merged by a tree"
    if isinstance(operator, Join) and operator.lonely_sides:
        return "partners are looked up again while rows may lose them"
    if isinstance(operator, Join):
        return "new rows meet those that count"
    return "the stream below comes in" if hasattr(operator, "on") else ""

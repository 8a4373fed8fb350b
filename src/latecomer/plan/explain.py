"""Tell what a plan does, in words: which stages there are, what runs in each, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latecomer.operators.in_order import InOrder
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.edges import payload_schema
from latecomer.operators.temporal.join import Join
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.temporal.paired import Paired
from latecomer.operators.temporal.session import Session
from latecomer.operators.temporal.session_aggregate import SessionAggregate
from latecomer.operators.temporal.whole import AsEdges, Whole
from latecomer.plan.plan import Gathering, Meeting
from latecomer.time import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from latecomer.operators.base import Operator
    from latecomer.plan.plan import Plan


def explained(plan: Plan, schema: pa.Schema) -> str:
    """Describe a plan for rows of a schema, one line for each thing that runs."""
    return "\n".join(_lines(plan, schema, ""))


def _lines(plan: Plan, schema: pa.Schema, margin: str) -> Iterator[str]:
    source = plan.source
    waits = f"wait {', '.join(map(format_duration, plan.waits))}"
    gathering = plan.stages[0].gathering
    if gathering is not None:
        yield from _gathered(gathering)
        return
    if plan.recalls:
        waits = f"recall {', '.join(map(str, plan.recalls))}, by which each bucket waits"
    yield (
        f"{margin}stream {source.number}: in Spark SQL what is computed of single rows; "
        f'then by "{source.time.name}", {waits}'
    )
    for number, stage in enumerate(plan.stages):
        key = ", ".join(stage.key) or "nothing: one bucket"
        why = "where rows are first together" if number == 0 else "rows travel: another key"
        if stage.everywhere:
            key, why = "nothing", "rows travel to all buckets"
        yield f"{margin}  stage {number + 1}, by {key} ({why})"
        for operator in stage.operators:
            yield f"{margin}    {_named(operator, schema)}"
            schema = operator.output_schema(schema)
            if isinstance(operator, Meeting):
                yield from _lines(operator.right, operator.rows, margin + "      ")


def _gathered(gathering: Gathering) -> Iterator[str]:
    join = gathering.operator
    is_told = all(stream.arrival is not None for stream in join.streams)
    for number, stream in enumerate(join.streams):
        yield f'stream {number}, {stream.name}: by "{stream.time.name}"'
    order = "their arrivals" if is_told else "the order in which they are read, side by side"
    yield f"  rows of a micro-batch come in by {order}"
    is_spread = gathering.rights[0].stages[0].everywhere
    dealt = f"{join.streams[0].name} is spread over the buckets, and the others are in all of them"
    yield f"  stage 1, {dealt if is_spread else 'by the common key'}"
    waits = {
        "max": "wait as long as the longest delay so far",
        "recall": f"wait as long as a recall of {join.quality.recall:g} takes, chosen every "
        f"{format_duration(join.quality.interval)}",
    }
    fixed = f"wait {format_duration(join.wait)}" if isinstance(join.wait, int) else ""
    windows = ", ".join(
        f"{stream.name} {format_duration(window)}"
        for stream, window in zip(join.streams, join.join.windows, strict=True)
    )
    yield f"    window join within {windows}: {fixed or waits[str(join.wait)]}"
    if join.join.where is not None:
        yield f"    where {join.join.where}"


_WORDS: dict[type, str] = {
    Paired: "lifetimes: begins and ends are rows of their own; begins are held",
    Whole: "rows, once they are final; those that have not ended are held",
    InOrder: "in order already: checked, not sorted; nothing is held",
    Session: "until the session ends; rows of open sessions are held",
    SessionAggregate: "aggregate sessions, once they are closed; states of open ones are held",
    Sort: "sort",
    AsEdges: "begins and ends, at once; nothing is held",
}


def _named(operator: Operator, schema: pa.Schema) -> str:
    """Name an operator, and say which way of doing it was chosen."""
    if isinstance(operator, Meeting):
        return _met(operator)
    if isinstance(operator, SnapshotAggregate):
        return _aggregated(operator, schema)
    if isinstance(operator, Lifetimes):
        end = f'"{operator.end.name}"' if operator.end else "a point in time"
        return f'lifetimes: from "{operator.time.name}" to {end}; nothing is held'
    return _WORDS.get(type(operator), operator.label)


def _met(meeting: Meeting) -> str:
    operator = meeting.operator
    on = ", ".join(
        f"{ours} = {theirs}"
        for ours, theirs in zip(operator.on.left, operator.on.right, strict=True)
    )
    name = f"{operator.how} join" if isinstance(operator, Join) else type(operator).__name__.lower()
    if not isinstance(operator, Join):
        way = "with the stream below"
    elif operator.lonely_sides:
        way = "all that count meet again at each watermark, because who has no partner may change"
    else:
        way = "new rows meet those that count; old pairs are not looked at"
    return f"{name}{f' on {on}' if on else ''}: {way}"


def _aggregated(operator: SnapshotAggregate, schema: pa.Schema) -> str:
    summary = operator.summary
    rows = payload_schema(schema)
    others = [name for name, each in summary.aggregates if not each.adds_up(rows)]
    way = (
        f"merged by a tree, because {', '.join(others)} cannot be taken away"
        if others
        else "added and taken away, because all are whole numbers"
    )
    return f"aggregate {', '.join(name for name, _ in summary.aggregates)}: {way}"

"""Describe a plan in words: which stages there are, what runs in each, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latecomer.plan.plan import Gathering, Meeting
from latecomer.time import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

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
            yield f"{margin}    {operator.describe(schema)}"
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

"""Describe a plan in words: its stages, what runs in each, what is held, and why."""

from collections.abc import Iterator
from typing import cast

import pyarrow as pa

from latecomer.labels import named
from latecomer.plan.plan import Plan
from latecomer.plan.stage import Gathering, Meeting, Stage
from latecomer.time import format_duration


def explained(plan: Plan, schema: pa.Schema) -> str:
    """Return a description of a plan for rows of a schema, with a line for each operator."""
    join = plan.stages[0].join
    return "\n".join(_lines(plan, schema, "") if join is None else _gathered(join))


def _lines(plan: Plan, schema: pa.Schema, margin: str) -> Iterator[str]:
    source = plan.source
    yield f'{margin}stream {source.number}, by "{source.time.name}": {plan.clock}'
    yield f"{margin}  Spark SQL computes filters and columns of single rows, before the first stage"
    yield f"{margin}  late rows: {_LATE[plan.late]}"
    for number, stage in enumerate(plan.stages):
        yield f"{margin}  stage {number + 1}, {_placed(stage, number)}"
        if number == 0 and plan.early is not None:
            yield f"{margin}    rows are aggregated where they are read; only states are shuffled"
        for operator in stage.operators:
            yield f"{margin}    {operator.describe(schema)}"
            schema = operator.output_schema(schema)
            for right in operator.rights:
                yield from _lines(right, cast("Meeting", operator).rows, margin + "      ")


_LATE = {
    "divert": "they go to the late output",
    "drop": "they are counted and dropped",
    "adjust": "their time is moved up to the watermark",
    "raise": "the query fails",
}


def _placed(stage: Stage, number: int) -> str:
    if stage.everywhere:
        return "in all buckets: every bucket gets a copy of all rows"
    key = ", ".join(stage.key)
    if not key:
        return "in one bucket: there is no key"
    why = "rows are shuffled again, because the key changes" if number else "rows meet here first"
    return f"by {key} ({why})"


def _gathered(gathering: Gathering) -> Iterator[str]:
    join = gathering.operator
    for number, stream in enumerate(join.streams):
        yield f'stream {number}, {stream.name}, by "{stream.time.name}"'
    has_arrivals = all(stream.arrival is not None for stream in join.streams)
    order = "in order of arrival" if has_arrivals else "in the order in which Spark reads them"
    yield f"  rows of a micro-batch are joined {order}; nothing is sorted before the join"
    is_spread = gathering.rights[0].stages[0].everywhere
    copied = f"{join.streams[0].name} is spread over the buckets, every bucket has all other rows"
    yield f"  stage 1, {copied if is_spread else 'by the common key'}"
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
    yield "    rows are held until their window has passed"
    if join.join.where is not None:
        yield f"    where {named(join.join.where.function)}"

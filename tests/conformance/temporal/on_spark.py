"""One vector of temporal operators on Spark, as a batch if possible, otherwise as a stream.

In a batch no row is late, and the output is the whole result. A vector that needs more, such as the
output before the end, is a stream; see `streamed`.

The operators are those of the local host. The planner puts them into stages, so that rows of
different keys are in different buckets. It expects all columns to be computed before the first
stage. Here operators compute columns, too, and the next operator then begins a new stage.
"""

from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql.pandas.types import from_arrow_schema

import latecomer as lc
from latecomer.errors import LateRowError
from latecomer.hosts.spark import outputs
from latecomer.hosts.spark import query as spark_query
from latecomer.operators.base import Operator
from latecomer.operators.temporal.specification import Temporal
from latecomer.operators.temporal.whole import Whole, instants
from latecomer.plan import Meeting, Plan, Stage, placement
from tests.conformance.lanes import one_partition
from tests.conformance.temporal import streamed
from tests.conformance.temporal.arrival import Arrival, OwnClocksError
from tests.conformance.temporal.events import lifetimes
from tests.conformance.temporal.own_clocks import plan_of
from tests.conformance.temporal.rows import Columns, Payloads
from tests.conformance.temporal.run import (
    KEYED,
    Vector,
    admitted,
    answer,
    fitted,
    may_have_own_clocks,
    query,
)
from tests.conformance.temporal.streams import TIME


def run(vector: Vector) -> dict[str, Any]:
    """Run a vector; the local host decides which type fits its values, and which rows are late."""
    try:
        kind, local = fitted(vector)
    except OwnClocksError:
        if not may_have_own_clocks(vector):
            raise
        return _run_own_clocks(vector)
    if _needs_stream(vector, local):
        return _run_stream(vector, kind)
    builder, stream = query(vector, kind)
    tables = [_table(vector, builder.inputs, feed, builder.rows) for feed in stream.feeds]
    plan = staged(builder.plan(stream), builder.rows)
    plan = placement.then(plan, Whole(*instants(builder.rows.field(TIME.name).type, TIME.unit)))
    session = lc.session()
    with one_partition(session):
        packed = spark_query.outputs([session.createDataFrame(table) for table in tables], plan)
        schema = plan.output_schema(builder.rows)
        ready = outputs.ready(packed, from_arrow_schema(schema)).toArrow()
    return {"lifetimes": answer(vector, lifetimes([_in_micros(ready)]))}


def _run_own_clocks(vector: Vector) -> dict[str, Any]:
    long = streamed.scaled(vector)
    found, late = streamed.run_own_clocks(long, plan_of(long, 1), KEYED)
    if vector["query"]:
        return run(admitted(vector, found)) | {"dropped": late}
    return {"lifetimes": answer(vector, found), "dropped": late}


def _run_stream(vector: Vector, kind: pa.DataType) -> dict[str, Any]:
    long = streamed.scaled(vector)
    builder, stream = query(long, kind, as_edges=True)
    try:
        found, late = streamed.run(long, builder, stream, staged)
    except StreamingQueryException as error:
        if LateRowError.__name__ not in str(error):
            raise
        return {"error": LateRowError.__name__}
    return {"lifetimes": answer(vector, found), "dropped": late}


def _needs_stream(vector: Vector, local: dict[str, Any]) -> bool:
    """Return True if a checkpoint is taken, a row is late, or the stream does not end."""
    inputs = [vector["inputs"], vector.get("inputs_right", [])]
    steps = Arrival(vector, inputs).steps()
    return (
        "checkpoint_after" in vector
        or vector["policies"].get("on_completed", "EndOfStream") != "EndOfStream"
        or "error" in local
        or any(step.row and step.row[TIME.name] < step.watermark for step in steps)
    )


def staged(plan: Plan, rows: pa.Schema) -> Plan:
    """Split the only stage of a plan into stages by key, and those of joined streams."""
    (stage,) = plan.stages
    source = replace(plan.source, rows=rows)
    result = Plan(source, plan.clock, plan.late, (Stage((), stage.operators[:1]),))
    for operator in stage.operators[1:]:
        if not _computes(operator):
            result = _computed(result)
        if isinstance(operator, Meeting):
            right = _computed(staged(operator.right, operator.rows))
            result = placement.meet(result, operator.operator, right, operator.rows)
        else:
            assert isinstance(operator, Temporal)
            result = placement.then(result, operator)
    return result


def _computed(plan: Plan) -> Plan:
    """Begin a new stage if columns have been computed, because the next key may be one of them."""
    operators = plan.stages[-1].operators
    if not operators or not _computes(operators[-1]):
        return plan
    return replace(plan, stages=(*plan.stages, Stage((), ())))


def _computes(operator: Operator) -> bool:
    return isinstance(operator, (Columns, Payloads))


def _table(vector: Vector, inputs: list[Any], feed: int, rows: pa.Schema) -> pa.Table:
    steps = Arrival(vector, inputs).steps()
    return pa.Table.from_pylist(
        [step.row for step in steps if step.row and step.side == feed], rows
    )


def _in_micros(table: pa.Table) -> pa.Table:
    return pa.table(
        [
            column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
            for column in table.columns
        ],
        table.column_names,
    )

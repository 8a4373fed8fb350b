"""Optimistic steps on Spark: every order of arrival of every vector is a run in one query.

Runs are independent: the number of a run is part of every key, and of the order of items of equal
time. Runs without watermarks go side by side, with one item of each run in a micro-batch. Runs with
watermarks go one after the other, because a query has one clock. Keys, values and outputs are JSON,
so one query serves all of them.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count, zip_longest
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

import latecomer as lc
from latecomer.api.readable import Readable
from latecomer.batch import Batch
from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import TICK
from latecomer.errors import TombstoneError
from latecomer.operators.base import Chunks, Emission, Responder
from latecomer.operators.optimistic.barrier import Barrier
from latecomer.operators.optimistic.grouping import Grouping
from latecomer.operators.optimistic.items import MARKS
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.operators.optimistic.stateful import Stateful
from latecomer.plan import Plan, Source, Stage, placement
from latecomer.time import TimeColumn
from tests.conformance import optimistic
from tests.conformance.applicable import Vector
from tests.conformance.lanes import (
    CLOCK_LANE,
    Found,
    Lane,
    Row,
    Step,
    Steps,
    one_partition,
    play,
    span,
)
from tests.support.streaming import stream

TIME = TimeColumn("time", "ms")
MARKED = ("sign", "run", "source", "trace")
COLUMNS = pa.schema(
    [
        ("id", pa.int64()),
        ("time", pa.int64()),
        ("sign", pa.int8()),
        ("run", pa.int64()),
        ("source", pa.int64()),
        ("trace", pa.int64()),
        ("key", pa.string()),
        ("value", pa.string()),
        ("combine", pa.string()),
    ]
)
RUN, OF_KEY = ("lane", "run"), ("lane", "run", "key")


def item(at: tuple[int, int], given: Sequence[Any], *, combine: str = "", trace: int = 0) -> Row:
    """Return an item as a row.

    Args:
        at: Its number in its run, and the number of the run.
        given: Its sign, time, source, key and value.
        combine: The name of the function that combines it with a state.
        trace: Its trace.
    """
    number, run = at
    sign, time, source, *texts = given
    key, value = (json.dumps(text, sort_keys=True) for text in texts)
    return [number, time, optimistic.SIGNS[sign], run, source, trace, key, value, combine]


@dataclass(frozen=True, slots=True)
class GivenItems(Optimistic):
    """Read items and tombstones that arrive as rows."""

    fixed = ()

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        kept = [field for field in schema if field.name not in ("sign", "source", "trace")]
        return pa.schema([*kept, *MARKS])

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> "ItemReader":
        return ItemReader(schema, self.output_schema(schema))


class ItemReader(Responder):
    """A running `GivenItems`. It holds nothing."""

    def push(self, rows: Batch, side: int = 0) -> Emission:
        """Read items, without rows that only move the clock."""
        rows = rows.filter(pc.field("lane") != CLOCK_LANE)
        kept = self._out.names[: -len(MARKS)]
        columns = [rows.column(name) for name in (*kept, *MARKED)]
        return self._emission(pa.table(columns, schema=self._out))


def steps_of(
    wait: int, key: tuple[str, ...], *steps: Optimistic
) -> Callable[[DataFrame], Readable]:
    """Return a function that builds the stream: given items, steps and a barrier."""

    def build(df: DataFrame) -> Readable:
        source = Source(TIME, key, before_1970=True)
        plan = Plan(source, OneClock((wait * TICK,)), "divert", (Stage(key, (GivenItems(),)),))
        for step in (*steps, Barrier(TIME)):
            plan = placement.then_optimistic(plan, step)
        return Readable((df,), plan, None)

    return build


def side_by_side(runs: Iterable[list[Row]]) -> Lane:
    """Return a lane whose micro-batches have the next item of every run."""
    return Lane([[row for row in rows if row] for rows in zip_longest(*runs)])


def of_run(run: int, rows: list[Found]) -> list[Found]:
    return [row for row in rows if row["run"] == run]


def grouping(vectors: list[Vector]) -> list[dict[str, Any]]:
    """Return the final tuples. What is emitted before depends on items that come one by one."""
    params = vectors[0]["params"]
    later = RUN if params["rekey"] == "all" else OF_KEY
    keys = [OF_KEY, *[later] * len(params["windows"])]
    groupings = [Grouping(TIME, key, n) for key, n in zip(keys, params["windows"], strict=False)]
    runs = [
        [item((n, run), step) for n, step in enumerate(vector["input"]["steps"])]
        for run, vector in enumerate(vectors)
    ]
    lane = side_by_side(runs)
    wait = span([{"rows": rows} for rows in runs])
    play([lane], COLUMNS, steps_of(wait, OF_KEY, *groupings), after=2 * wait)
    return [
        {"final": [values(row) for row in of_run(run, lane.rest)]} for run in range(len(vectors))
    ]


def values(row: Found) -> Any:  # noqa: ANN401 - values, in nested lists
    if "items" in row:
        return [values(each) for each in row["items"]]
    return json.loads(row["value"])


def combined(state: Any, row: Any) -> tuple[Any, list[tuple[str]]]:  # noqa: ANN401 - any state
    first, combine = optimistic.COMBINES[row.combine]
    state, output = combine(first if state is None else state, json.loads(row.value))
    return state, [(json.dumps(output),)]


def stateful(vectors: list[Vector]) -> list[dict[str, Any]]:
    """Run each order of arrival through the step and a barrier."""
    runs = [
        _arrivals(vector, order, number)
        for number, (vector, order) in enumerate(
            (vector, order) for vector in vectors for order in vector["input"]["orders"]
        )
    ]
    wait = max(map(span, runs))
    stepwise = {
        n: Steps(run, wait, apart=True) for n, run in enumerate(runs) if any(map(_is_mark, run))
    }
    plain = [
        [row for step in run for row in step["rows"]]
        for n, run in enumerate(runs)
        if n not in stepwise
    ]
    shared = side_by_side(plain)
    update = Stateful(TIME, OF_KEY, combined, None, pa.schema({"output": pa.string()}), every=2)
    lanes = [shared, *(steps.lane for steps in stepwise.values())]
    play(lanes, COLUMNS, steps_of(wait, OF_KEY, update), after=2 * wait)

    def result(number: int) -> dict[str, Any]:
        steps = stepwise.get(number)
        lane = steps.lane if steps else shared
        told = zip(runs[number], steps.told()[0], strict=True) if steps else []
        released = [answers(rows, lane) for step, rows in told if _is_mark(step)]
        return {"released": released, "end": answers(of_run(number, lane.rest), lane)}

    numbers = count()
    results = []
    for vector in vectors:
        own = [result(next(numbers)) for _ in vector["input"]["orders"]]
        finals = [[row for part in [*run["released"], run["end"]] for row in part] for run in own]
        is_same = all(final == finals[0] for final in finals)
        results.append({"runs": own, "final": finals[0] if is_same else finals})
    return results


def _is_mark(step: Step) -> bool:
    return "watermark" in step


def _arrivals(vector: Vector, order: list[Any], run: int) -> list[Step]:
    """Return one order of arrival as steps."""
    items, combine = vector["input"]["items"], vector["params"]["combine"]
    steps: list[Step] = []
    for n, each in enumerate(order):
        if isinstance(each, list) and each[0] == "watermark":
            steps.append({"watermark": each[1]})
            continue
        sign, number = ("-", each[1]) if isinstance(each, list) else ("+", each)
        steps.append({"rows": [item((n, run), [sign, *items[number]], combine=combine)]})
    return steps


def answers(rows: list[Found], lane: Lane) -> list[list[Any]]:
    return [
        [row["time"] - lane.offset, json.loads(row["key"]), json.loads(row["output"])]
        for row in rows
    ]


def barrier(vectors: list[Vector]) -> list[dict[str, Any]]:
    """Run a barrier; return released and held payloads. Payloads also are the traces of items."""
    runs = [_payloads(vector, run) for run, vector in enumerate(vectors)]
    wait = max(map(span, runs))
    laid_out = [Steps(run, wait, apart=True) for run in runs]
    # Vectors that fail are not run together with others.
    is_to_fail = vectors[0]["expected"]["error_at"] is not None
    failed_at = play(
        [steps.lane for steps in laid_out],
        COLUMNS,
        steps_of(wait, ()),
        after=2 * wait,
        fails=TombstoneError if is_to_fail else None,
    )
    results = []
    for steps in laid_out:
        ready = [[json.loads(row["value"]) for row in rows] for rows in steps.told()[0]]
        if failed_at is None:
            held = [json.loads(row["value"]) for row in steps.lane.rest]
            results.append({"released": ready, "held": held, "error_at": None})
        else:
            # The held items of a failed query are unknown.
            at = steps.step_of(failed_at)
            results.append({"released": ready[:at], "error_at": at})
    return results


def _payloads(vector: Vector, run: int) -> list[Step]:
    traces = optimistic.Traces()
    return [
        {"watermark": step[1]}
        if step[0] == "watermark"
        else {
            "rows": [item((n, run), [step[0], step[1], 0, "", step[2]], trace=traces.of(step[2]))]
        }
        for n, step in enumerate(vector["input"]["steps"])
    ]


def inverted_index(vector: Vector) -> dict[str, Any]:
    """Turn documents into postings, for all orders at the same time, a document of each in turn."""
    documents, orders = vector["input"]["documents"], vector["input"]["orders"]
    schema = pa.schema(
        [("time", pa.int64()), ("run", pa.int64()), ("id", pa.string()), ("text", pa.string())]
    )
    postings = "array<struct<doc: string, positions: array<long>>>"

    def build(df: DataFrame) -> lc.CorrectedStream:
        events = lc.disordered(df, time="time", unit="ms", key=["run", "id"], before_1970=True)
        columns = "run long, doc string, word string, positions array<long>"
        index = (
            events.optimistic(wait="1 day")
            .flat_map(
                lambda row: [(row.run, *made) for made in optimistic.words(row)], outputs=columns
            )
            .stateful(
                optimistic.posted,
                key=["run", "word"],
                initial=[],
                outputs=f"doc string, positions array<long>, postings {postings}",
            )
        )
        return index.barrier()

    tables = [
        pa.Table.from_pylist([{**documents[n], "run": run} for run, n in enumerate(some)], schema)
        for some in zip(*orders, strict=True)
    ]
    session = lc.session()
    with one_partition(session):
        ready, _ = stream(session, tables, build, end="flush")
    found = [row.asDict(recursive=True) for rows in ready.values() for row in rows]
    runs: list[list[Found]] = [[] for _ in orders]
    for each in found:
        runs[each.pop("run")].append(optimistic.change(each))
    expected = sorted(vector["expected"]["changes"], key=optimistic.by_word)
    is_met = all(sorted(run, key=optimistic.by_word) == expected for run in runs)
    index = {each["word"]: each["postings"] for each in runs[0]}
    return {"changes": vector["expected"]["changes"] if is_met else runs, "index": index}

"""The kinds of optimistic processing: grouping, stateful steps, the barrier, the inverted index.

Items are pushed one by one, as in the vectors. So a step emits everything that the paper's step
emits, including items that it cancels at once.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.clock.policy import OneClock
from latecomer.errors import TombstoneError
from latecomer.hosts.local import LocalHost, MemoryChunks
from latecomer.operators.optimistic.barrier import Barrier
from latecomer.operators.optimistic.enter import Enter
from latecomer.operators.optimistic.flat_map import FlatMap
from latecomer.operators.optimistic.grouping import Grouping
from latecomer.operators.optimistic.items import MARKS, SIGN
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.operators.optimistic.stateful import Stateful
from latecomer.plan import Plan, Source, Stage
from latecomer.time import FOREVER, TimeColumn
from tests.conformance.typed import Typed

if TYPE_CHECKING:
    from latecomer.operators.base import Running

Vector = dict[str, Any]
TIME = TimeColumn("time", "us")
SIGNS = {"+": 1, "-": -1}


class Steps:
    """A chain of running steps; items pass through it one by one."""

    def __init__(self, *specs: Optimistic, schema: pa.Schema) -> None:
        self.running: list[Running] = []
        for spec in specs:
            self.running.append(spec.start(schema, MemoryChunks()))
            schema = spec.output_schema(schema)

    def push(self, items: pa.Table, at: int = 0) -> Iterator[tuple[int, pa.Table]]:
        """Yield the output of each step, with the number of the step."""
        for row in range(items.num_rows):
            made = self.running[at].push(items.slice(row, 1)).ready
            yield at, made
            if at + 1 < len(self.running):
                yield from self.push(made, at + 1)

    def advance(self, watermark: int) -> pa.Table:
        """Return the rows that the last step releases."""
        return [step.advance(watermark) for step in self.running][-1].ready


@dataclass(frozen=True, slots=True)
class Items:
    """The types of a vector's keys and values."""

    key: Typed
    value: Typed

    @classmethod
    def of(cls, given: list[list[Any]]) -> "Items":
        """Return the types for items [time, source, key, value]."""
        key = Typed.of((each[2] for each in given), otherwise=pa.string())
        return cls(key, Typed.of((each[3] for each in given), otherwise=pa.int64()))

    @property
    def schema(self) -> pa.Schema:
        row = [("time", pa.int64()), ("key", self.key.kind), ("value", self.value.kind)]
        return pa.schema([*row, *MARKS])

    def item(self, sign: str, time: int, source: int, key: object, value: object) -> pa.Table:
        """Return a table with one item, or its tombstone."""
        row = (time, self.key.write(key), self.value.write(value))
        columns = (*row, SIGNS[sign], 0, source, 0)
        return pa.table([[column] for column in columns], schema=self.schema)

    def values(self, row: dict[str, Any]) -> Any:  # noqa: ANN401 - values, in nested lists
        """Return the values of a tuple."""
        if "items" in row:
            return [self.values(each) for each in row["items"]]
        return self.value.read(row["value"])


def grouping(vector: Vector) -> dict[str, Any]:
    """Run one grouping or a chain of them; return the emitted and the final tuples."""
    params = vector["params"]
    items = Items.of([step[1:] for step in vector["input"]["steps"]])
    keys = [("key",), *[() if params["rekey"] == "all" else ("key",)] * 9]
    sizes = params["windows"]
    specs = [Grouping(TIME, key, size) for key, size in zip(keys, sizes, strict=False)]
    steps = Steps(*specs, Barrier(TIME), schema=items.schema)
    emitted = []
    for step in vector["input"]["steps"]:
        said: list[list[Any]] = [[] for _ in sizes]
        for at, made in steps.push(items.item(*step)):
            if at < len(sizes):
                said[at] += [
                    ["+" if row[SIGN] > 0 else "-", items.values(row)] for row in made.to_pylist()
                ]
        emitted.append(said if len(sizes) > 1 else said[0])
    final = [items.values(row) for row in steps.advance(FOREVER).to_pylist()]
    return {"emitted": emitted, "final": final}


def matrix(one: list[list[int]] | None, other: list[list[int]]) -> list[list[int]]:
    if one is None:
        return other
    columns = [*zip(*other, strict=True)]
    return [[sum(a * b for a, b in zip(r, c, strict=True)) for c in columns] for r in one]


COMBINES: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "sum": (0, lambda state, value: (state + value,) * 2),
    "append": ("", lambda state, value: (state + value,) * 2),
    "decimal": (0, lambda state, value: (10 * state + value,) * 2),
    "matrix": (None, lambda state, value: (matrix(state, value),) * 2),
    "previous": (None, lambda state, value: (value, [state, value])),
    "max_so_far": (
        None,
        lambda state, value: (value if state is None else max(state, value),) * 2,
    ),
}
"""For each: the first state, and a function that returns the next state and the output."""


def stateful(vector: Vector) -> dict[str, Any]:
    """Run each order of arrival through the step and a barrier."""
    name, given = vector["params"]["combine"], vector["input"]["items"]
    initial, combine = COMBINES[name]
    items = Items.of(given)
    # A pair of values that have no common type is text, too.
    is_pair = name == "previous" and not items.value.is_text
    made = Typed(pa.list_(items.value.kind)) if is_pair else items.value

    def update(state: Any, row: Any) -> tuple[Any, list[tuple[Any]]]:  # noqa: ANN401
        state, output = combine(state, items.value.read(row.value))
        return state, [(made.write(output),)]

    def answers(rows: pa.Table) -> list[list[Any]]:
        return [
            [row["time"], items.key.read(row["key"]), made.read(row["output"])]
            for row in rows.to_pylist()
        ]

    outputs = pa.schema({"output": made.kind})
    runs = []
    for order in vector["input"]["orders"]:
        spec = Stateful(TIME, ("key",), update, initial, outputs, every=2)
        steps = Steps(spec, Barrier(TIME), schema=items.schema)
        released = []
        for each in order:
            if isinstance(each, list) and each[0] == "watermark":
                watermark = FOREVER if each[1] == "inf" else each[1]
                released.append(answers(steps.advance(watermark)))
                continue
            sign, number = ("-", each[1]) if isinstance(each, list) else ("+", each)
            for _ in steps.push(items.item(sign, *given[number])):
                pass
        runs.append({"released": released, "end": answers(steps.advance(FOREVER))})
    finals = [[row for part in [*run["released"], run["end"]] for row in part] for run in runs]
    same = all(final == finals[0] for final in finals)
    return {"runs": runs, "final": finals[0] if same else finals}


def barrier(vector: Vector) -> dict[str, Any]:
    """Run a barrier; return released and held payloads. Payloads also are the traces of items."""
    given = [step[2] for step in vector["input"]["steps"] if step[0] != "watermark"]
    payload = Typed.of(given, otherwise=pa.string())
    schema = pa.schema([("time", pa.int64()), ("payload", payload.kind), *MARKS])
    running = Barrier(TIME).start(schema, MemoryChunks())
    released: list[list[Any]] = []
    traces, error_at = Traces(), None

    def advanced(watermark: int) -> list[Any]:
        return [*map(payload.read, running.advance(watermark).ready["payload"].to_pylist())]

    for number, step in enumerate(vector["input"]["steps"]):
        if step[0] == "watermark":
            released.append(advanced(FOREVER if step[1] == "inf" else step[1]))
            continue
        columns = (step[1], payload.write(step[2]), SIGNS[step[0]], 0, 0, traces.of(step[2]))
        try:
            running.push(pa.table([[column] for column in columns], schema=schema))
        except TombstoneError:
            error_at = number
            break
        released.append([])
    return {"released": released, "held": advanced(FOREVER), "error_at": error_at}


class Traces:
    """The traces of items: a number for each payload. Equal payloads have equal traces."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, payload: object) -> int:
        text = json.dumps(payload, sort_keys=True)
        return self._numbers.setdefault(text, len(self._numbers))


def inverted_index(vector: Vector) -> dict[str, Any]:
    """Turn documents into words, and words into postings: two steps with different keys."""
    documents = vector["input"]["documents"]
    schema = pa.schema([("time", pa.int64()), ("id", pa.string()), ("text", pa.string())])
    runs = []
    for order in vector["input"]["orders"]:
        host = LocalHost(INDEX, schema)
        for number in order:
            host.step(pa.Table.from_pylist([documents[number]], schema))
        rows = host.finish().ready.to_pylist()
        runs.append([change(row) for row in rows])
    index = {each["word"]: each["postings"] for each in runs[0]}
    if any(run != runs[0] for run in runs):
        return {"changes": runs, "index": index}
    # The words of a document may come in any order.
    expected = vector["expected"]["changes"]
    is_met = sorted(runs[0], key=by_word) == sorted(expected, key=by_word)
    return {"changes": expected if is_met else runs[0], "index": index}


def by_word(each: dict[str, Any]) -> tuple[int, str, str]:
    return each["time"], each["doc"], each["word"]


def change(row: dict[str, Any]) -> dict[str, Any]:
    postings = [[each["doc"], each["positions"]] for each in row["postings"]]
    return {**row, "postings": postings}


def words(row: Any) -> list[tuple[str, str, list[int]]]:  # noqa: ANN401
    found: dict[str, list[int]] = {}
    for position, word in enumerate(row.text.split()):
        found.setdefault(word, []).append(position)
    return [(row.id, word, positions) for word, positions in sorted(found.items())]


def posted(postings: Any, row: Any) -> tuple[Any, tuple[Any, ...]]:  # noqa: ANN401
    postings = [*postings, {"doc": row.doc, "positions": row.positions}]
    return postings, (row.doc, row.positions, postings)


POSITIONS = pa.list_(pa.int64())
POSTINGS = pa.list_(pa.struct([("doc", pa.string()), ("positions", POSITIONS)]))
INDEX = Plan(
    Source(TIME),
    OneClock((1 << 40,)),
    "raise",
    (
        Stage(
            (),
            (
                Enter(TIME),
                FlatMap(
                    TIME,
                    words,
                    pa.schema(
                        [("doc", pa.string()), ("word", pa.string()), ("positions", POSITIONS)]
                    ),
                ),
            ),
        ),
        Stage(
            ("word",),
            (
                Stateful(
                    TIME,
                    ("word",),
                    posted,
                    [],
                    pa.schema(
                        [("doc", pa.string()), ("positions", POSITIONS), ("postings", POSTINGS)]
                    ),
                ),
                Barrier(TIME),
            ),
        ),
    ),
)

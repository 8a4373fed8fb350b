"""The label of every operator and aggregate, as it is written in checkpoints.

If a label changes, all checkpoints that users have are refused. So none of these texts may change
unless results change. A new option that is off by default must not change them.
"""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from latecomer import agg
from latecomer.errors import OptionError
from latecomer.labels import (
    Labelled,
    class_label,
    compared,
    function_label,
    named,
    value_label,
    versioned,
)
from latecomer.operators.aggregates.custom import UserAggregate
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.estimates.spread import Spread
from latecomer.operators.optimistic.stateful import Stateful
from latecomer.operators.patterns.automaton import compiled
from latecomer.operators.patterns.detect import Detect
from latecomer.operators.patterns.shapes import Event, Then
from latecomer.operators.temporal.binary import On
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.window_join.buffer_size_manager import Quality
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.joiner import WindowJoin
from latecomer.operators.window_join.quality_join import Input, QualityJoin
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.time import TimeColumn
from tests.operators.catalogue import EXAMPLES
from tests.support import all_aggregates

if TYPE_CHECKING:
    from collections.abc import Callable

TIME = TimeColumn("time", "us")


@partial(versioned, version="1")
def update(state: int, row: Any) -> tuple[int, int]:  # noqa: ANN401
    return state + row.value, state


class Energy(agg.Aggregate):
    state_type = result_type = pa.float64()

    def __init__(self, column: str, scale: int = 1) -> None:
        super().__init__(column)
        self.scale = scale

    def zero(self) -> float:
        return 0.0

    def add(self, state: float, values: pa.Array) -> float:
        return state + self.scale * len(values)

    def merge(self, one: float, other: float) -> float:
        return one + other

    def finish(self, state: float) -> float:
        return state


AGGREGATES = {
    agg.count(): "Count()",
    agg.count("x", where="ok"): 'Count(column="x", where="ok")',
    agg.sum("x"): 'Sum(column="x")',
    agg.mean("x"): 'Mean(column="x")',
    agg.min("x"): 'Min(column="x")',
    agg.max("x"): 'Max(column="x")',
    agg.first("x"): 'First(column="x")',
    agg.last("x"): 'Last(column="x")',
    agg.variance("x"): 'Variance(column="x")',
    agg.stddev("x"): 'Stddev(column="x")',
    agg.collect("x"): 'Collect(column="x")',
    agg.count_distinct("x"): 'CountDistinct(column="x")',
    agg.count_distinct("x", how="approximate"): 'ApproxCountDistinct(column="x", error=0.05)',
    agg.quantile("x", 0.5): 'Quantile(column="x", q=0.5)',
    agg.quantile("x", [0.5, 1.0]): 'Quantile(column="x", q=[0.5, 1.0])',
    agg.quantile("x", 0.5, how="sketch"): 'QuantileSketch(column="x", q=0.5, error=0.01)',
    agg.top_k("x", 3): 'TopK(column="x", k=3)',
    agg.top_k("x", 3, by="y", ties=True): 'TopK(column="x", k=3, by="y", ties=True)',
    versioned(Energy, version="7")("x", scale=2).specification(): (
        'Custom(column="x", user="Energy(column=\'x\', where=None, scale=2)<version 7>")'
    ),
    Spread("x"): 'Spread(column="x")',
}

COUNT = 'Summary(keys=["key"], aggregates=[["n", Count()]])'
MANY = (
    'Summary(keys=["k"], aggregates=[["rows", Count()], ["high", Max(column="v")], '
    '["values", CountDistinct(column="v")]])'
)
OPERATORS = """\
Sort(by="time" in us)
InOrder(by="time" in us)
Levels(by="time" in us)
EachWait(by="time" in us, waits=[0, 5])
Unslotted()
Levels(by="time" in us, then=[Lasting(time="time" in us, duration=10, columns=["key"]), SnapshotAggregate(summary={COUNT}), AsWindows(window="window" struct<start: int64, end: int64>, time="time" in us)])
Distinct(time="time" in us, columns=["key", "value"], within=10, keyed=["key"])
Aggregation(time="time" in us, windows=Windows(size=10, hop=4, origin=0), summaries=[{COUNT}])
Detect(time="time" in us, keys=["key"], automaton=Automaton(events=[Event(name="a", condition="a"), Event(name="b", condition="b")], firsts=[0], arcs=[[0, 1, -1]], lasts=[1]), within=100, may_overlap=True)
Detect(time="time" in us, keys=["key"], automaton=Automaton(events=[Event(name="a", condition="a"), Event(name="b", condition="b")], guards=["z"], firsts=[0], arcs=[[0, 1, -1], [0, 2, -1], [1, 2, -1]], lasts=[2], states=[0, 0, 1]), within=100, may_overlap=True, silence=5, summaries=[[["a"], Summary(aggregates=[["n", Count()]])]])
Lifetimes(time="time" in us)
Lifetimes(time="start" in us, end="end" in us)
Lifetimes(time="start" in us, end="end" in us, lag=7)
Lasting(time="time" in us, duration=10, columns=["key"])
Paired(known="known" in us, begin="start" in us, end="end" in us)
Whole(kind=int64, unit="us")
AsWindows(window="window" struct<start: int64, end: int64>, time="time" in us)
AsEdges(kind=int64, unit="us")
Enter(time="time" in us, key=["key"])
FlatMap(time="time" in us, function=append<code>, outputs=["output" string])
Grouping(time="time" in us, key=["key"], size=3)
Stateful(time="time" in us, key=["key"], update=append<code>, initial="''", outputs=["output" string])
Barrier(time="time" in us)
Changelog()
Alter(duration=5)
Shift(by=4)
Shift(by=-4)
Quantize(size=10, hop=5, origin=2)
Extend(by=3)
Extend(by=-6)
Clip(limit=6)
UntilNext(keyed=["k"])
Session(keys=["k"], closing=Closing(timeout=4))
Session(keys=["k"], closing=Closing(timeout=6, max_duration=5))
PointAtEnd()
Chop(period=7, origin=3)
Stitch()
Stitch(keyed=["k"])
Stitch(equal=Condition(function=is_near<code>))
Keep(where=Condition(function=is_high<code>))
Alter()
SnapshotAggregate(summary=Summary(keys=["k"], aggregates=[["v", Sum(column="v")]]))
SnapshotAggregate(summary={MANY})
SessionAggregate(summary={MANY}, closing=Closing(timeout=4), kind=int64)
SessionAggregate(summary={MANY}, closing=Closing(timeout=6, max_duration=5), kind=int64)
Compute(columns=[["twice", Computed(function=twice<code>, kind=int64)]])
Dated(time="at" in us, kind=int64)
ClipBy(on=On(left=["k"], right=["k"]))
ClipBy(on=On(left=["v"], right=["w"]))
Join(on=On(left=["k"], right=["k"]), how="inner")
Join(on=On(left=["k"], right=["k"]), how="left")
Join(on=On(left=["k"], right=["k"]), how="full")
Join(on=On(left=["k"], right=["k"]), how="anti")
Join(on=On(left=["k"], right=["k"]), how="inner", where=Condition(function=is_up<code>))
Join(on=On(left=["k"], right=["k"]), how="left", where=Condition(function=is_up<code>))
Join(on=On(left=["k"], right=["k"]), how="full", where=Condition(function=is_up<code>))
Union(on=On())
""".replace("{COUNT}", COUNT).replace("{MANY}", MANY)  # noqa: E501 - as they stand in checkpoints

JOIN = QualityJoin(
    (Input("a", TIME), Input("b", TIME, TimeColumn("at"))),
    WindowJoin((10, 20), Equalities.common("k", "k"), Condition(update)),
    "recall",
    Quality(0.9),
)

OPTIONAL = {
    "texts": "shown instead of the columns",
    "text": "shown instead of the column",
    "waits": "part of the clock's identity",
    "every": "how often states are kept changes no answer",
    "is_whole": "true for batches only, which have no checkpoint",
}
"""Fields that are in no label, with the reasons."""


def test_the_label_of_every_operator_stays_as_it_is() -> None:
    found = [re.sub(r"<3\.\d+ code [0-9a-f]{16}>", "<code>", spec.label) for spec, _ in EXAMPLES]

    assert found == OPERATORS.splitlines()


def test_the_label_of_every_aggregate_stays_as_it_is() -> None:
    assert {type(each) for each in AGGREGATES} == {*all_aggregates.concrete(), Spread}
    assert {each.label: text for each, text in AGGREGATES.items()} == {
        text: text for text in AGGREGATES.values()
    }


def test_the_label_of_a_window_join_stays_as_it_is() -> None:
    assert JOIN.label == (
        'QualityJoin(streams=[Input(name="a", time="time" in us), Input(name="b", time="time" in us'
        ', arrival="at")], join=WindowJoin(windows=[10, 20], on=Equalities(streams=2, pairs=[Pair('
        'left=0, left_column="k", right=1, right_column="k")], key=["k", "k"]), '
        'where=Condition(function=update<version 1>)), wait="recall", quality=Quality(recall=0.9, '
        "period=60000000, interval=1000000, granularity=10000, basic_window=10000, "
        'selectivity="NonEqSel", feedback="calibrated"))'
    )


def labelled(spec: object) -> list[Labelled]:
    """Return all objects with labels in a specification, including itself."""
    if isinstance(spec, tuple):
        return [found for each in spec for found in labelled(each)]
    if not isinstance(spec, Labelled) or not is_dataclass(spec):
        return []
    own = [found for each in fields(spec) for found in labelled(getattr(spec, each.name))]
    return [spec, *own]


@pytest.mark.parametrize(
    "spec",
    [*(spec for spec, _ in EXAMPLES), *AGGREGATES, JOIN],
    ids=lambda spec: type(spec).__name__,
)
def test_a_field_is_in_the_label_or_there_is_a_reason(spec: object) -> None:
    for each in labelled(spec):
        names = {field.name for field in fields(each)}  # type: ignore[arg-type]
        assert names - set(each.fixed or names) <= set(OPTIONAL), type(each)


def test_values_without_a_stable_label_are_refused() -> None:
    with pytest.raises(TypeError, match="cannot be part of a label"):
        _ = On(left=[object()]).label  # type: ignore[arg-type]


def test_expressions_are_in_the_label_instead_of_columns_that_spark_computes() -> None:
    def total(text: str) -> str:
        column = replace(agg.sum("_lc_input_0"), texts=(("column", text),))
        return Aggregation(TIME, Windows(5, 5), (0,), (Summary((), (("s", column),)),)).label

    assert 'Sum(column="price * 2")' in total("price * 2")
    assert total("price * 2") != total("price * 3")


def test_conditions_of_patterns_are_in_the_label_as_they_were_written() -> None:
    shape = Then(Event("a", "_lc_input_0", text="x > 1"), Event("b", where=update), "_lc_input_1")
    automaton = replace(compiled(shape), texts=("x < 0",))
    label = Detect(TIME, ("key",), automaton, 10).label

    assert 'Event(name="a", condition="x > 1"), Event(name="b", where=update<version 1>)' in label
    assert 'guards=["x < 0"]' in label
    assert "_lc_" not in label


def test_the_initial_state_is_in_the_label() -> None:
    def of(initial: object) -> str:
        return Stateful(TIME, (), update, initial, pa.schema({"x": pa.int64()})).label

    assert len({of(0), of(0.0), of((0, 1)), of([0, 1]), of({"a": 0}), of({"a": 1})}) == 6
    assert of({3, 1, 2}) == of({2, 3, 1})


class Adding:
    def __init__(self, by: int) -> None:
        self.by = by

    def __call__(self, state: int, _row: object) -> int:
        return state + self.by

    def method(self, state: int) -> int:
        return state


@pytest.mark.parametrize(
    ("function", "expected"),
    [(update, "update"), (partial(update, 1), "update"), (Adding(1), "Adding")],
)
def test_a_function_has_a_name_that_a_restart_does_not_change(
    function: Callable[..., object], expected: str
) -> None:
    assert named(function) == expected


LIMIT = 5


def helper(value: int) -> int:
    return value + LIMIT


def made(source: str, **known: object) -> Callable[..., Any]:
    scope = dict(known)
    exec(source, scope)  # noqa: S102 - two functions of one name
    return scope["f"]  # type: ignore[return-value]


ONE = "def f(state, row):\n    return state + row.x * 2"


@pytest.mark.parametrize(
    "other",
    [
        made("def f(state, row):\n    return state + row.x * 3"),
        made("def f(state, row):\n    return state - row.x * 2"),
        made("def f(state, row):\n    return state + row.y * 2"),
        made("def f(row, state):\n    return state + row.x * 2"),
        made("def f(state, row, k=1):\n    return state + row.x * 2"),
    ],
)
def test_other_code_is_another_function(other: Callable[..., Any]) -> None:
    assert compared(function_label(made(ONE)), function_label(other)) == "changed"


def test_values_that_a_function_reads_are_part_of_its_label() -> None:
    reads = "def f(x):\n    return [g(y) + LIMIT for y in x]"
    once = made(reads, LIMIT=1, g=helper)

    assert function_label(once) == function_label(made(reads, LIMIT=1, g=helper, other=2))
    assert function_label(once) != function_label(made(reads, LIMIT=2, g=helper))
    assert function_label(once) != function_label(made(reads, LIMIT=1, g=made(ONE)))
    assert function_label(Adding(1)) != function_label(Adding(2))
    assert function_label(partial(helper, 1)) != function_label(partial(helper, 2))
    assert function_label(Adding(1).method) != function_label(Adding(1))


def test_comments_lines_docstrings_and_what_is_counted_meanwhile_are_no_part() -> None:
    again = made("\n\ndef f(state, row):\n    'It adds.'\n    # two\n    return state + row.x * 2")
    seen: list[int] = []

    def counts(x: int) -> int:
        seen.append(x)
        return x

    before = function_label(counts)
    counts(1)

    assert function_label(again) == function_label(made(ONE))
    assert function_label(counts) == before


def endless(x: int) -> int:
    return endless(x - 1) if x else 0


def in_set(x: str) -> bool:
    return x in {"a", "b", "c", "d", "e"}


def test_copies_in_another_process_have_the_same_labels() -> None:
    functions = [helper, endless, in_set, Adding(3), lambda x: helper(x) - 1]
    copy = cloudpickle.dumps(functions)
    code = (
        "import pickle, sys; from latecomer.labels import function_label; "
        "print(*map(function_label, pickle.load(sys.stdin.buffer)), sep='\\n')"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], input=copy, capture_output=True, check=True, timeout=600
    )

    assert said.stdout.decode().splitlines() == [*map(function_label, functions)]


def test_a_version_that_is_named_is_all_that_counts() -> None:
    one, other = versioned(made(ONE), version="2"), versioned(lambda _: 1, version="2")
    other.__qualname__ = "f"

    assert function_label(one) == function_label(other) == "f<version 2>"
    assert function_label(pickle.loads(cloudpickle.dumps(one))) == "f<version 2>"  # noqa: S301 - ours
    assert compared("f<version 2>", "f<version 3>") == "changed"


def test_code_of_another_python_cannot_be_compared() -> None:
    old = "Join(where=f<3.10 code 0123456789abcdef>)"

    assert compared(old, old) == "same"
    assert compared(old, "Join(where=f<3.10 code 1123456789abcdef>)") == "changed"
    assert compared(old, "Join(where=f<3.11 code 1123456789abcdef>)") == "unknown"
    assert compared(old, "Join(where=f<version 1>)") == "unknown"
    assert compared(old, "Join(where=g<3.11 code 1123456789abcdef>)") == "changed"
    assert compared(old, "Join(how='left', where=f<version 1>)") == "changed"
    assert compared(f"{old} {old}", f"{old} {old[:-2]}0>)") == "changed"


@pytest.mark.parametrize("version", ["", "a b", 'x"', "<1>"])
def test_a_version_is_a_word(version: str) -> None:
    with pytest.raises(OptionError, match="version must be a word or a number; got"):
        versioned(made(ONE), version=version)


def test_functions_that_cannot_have_a_version_are_refused() -> None:
    with pytest.raises(OptionError, match="len cannot be given a version"):
        versioned(len, version="1")


def test_an_aggregate_of_a_user_is_known_by_its_code() -> None:
    class More(Energy):
        def finish(self, state: float) -> float:
            return state + 1

    class Most(Energy):
        def finish(self, state: float) -> float:
            return state + 2

    More.__qualname__ = Most.__qualname__ = "More"
    del Energy._latecomer_version  # type: ignore[attr-defined]
    try:
        labels = [class_label(kind("x"), UserAggregate) for kind in (More, Most, More)]
    finally:
        versioned(Energy, version="7")

    assert compared(labels[0], labels[1]) == "changed"
    assert labels[0] == labels[2]
    assert "More(column='x', where=None, scale=1)<3." in labels[0]


def test_a_value_of_any_class_has_a_label() -> None:
    assert value_label(Adding(1)) == "Adding"
    assert value_label([1, ("a", None)]) == "list[1, tuple['a', None]]"

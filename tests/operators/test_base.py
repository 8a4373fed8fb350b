"""Every operator declares what the planner, the hosts and `explain` need, and can be run.

A new operator needs an example in the catalogue of operators or of temporal operators.
"""

from __future__ import annotations

import inspect
import pickle
import pkgutil
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import latecomer.operators
from latecomer import agg
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.base import Operator, Responder, Running, Takes
from latecomer.operators.clocked_levels import ClockedLeveler, ClockedSlotter
from latecomer.operators.clocked_sort import ClockedSorter
from latecomer.operators.distinct import Distinct
from latecomer.operators.levels import Levels
from latecomer.operators.optimistic.changelog import Changelog
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.binary import Binary
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.clocked_aggregate import ClockedAggregator
from latecomer.operators.windows.grid import Windows
from latecomer.time import FOREVER
from tests.operators.catalogue import COUNT, EXAMPLES, HOPS, ITEMS
from tests.support.chains import SCHEMA, TIME

if TYPE_CHECKING:
    from collections.abc import Iterator

SPECS = [spec for spec, _ in EXAMPLES if isinstance(spec, Operator)]

every_example = pytest.mark.parametrize(
    ("spec", "schema"), EXAMPLES, ids=[type(spec).__name__ for spec, _ in EXAMPLES]
)
every_operator = pytest.mark.parametrize("spec", SPECS, ids=[type(spec).__name__ for spec in SPECS])


def classes() -> Iterator[type]:
    package = latecomer.operators
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for _, kind in inspect.getmembers(import_module(module.name), inspect.isclass):
            if kind.__module__ == module.name and Protocol not in kind.__bases__:
                yield kind


def test_a_class_with_push_and_advance_is_a_running_operator() -> None:
    found = {kind for kind in classes() if hasattr(kind, "push") and hasattr(kind, "advance")}

    assert {kind for kind in found if not issubclass(kind, Running)} == {
        ClockedSorter,
        ClockedSlotter,
        ClockedLeveler,
        ClockedAggregator,
    }


def test_every_operator_has_an_example() -> None:
    concrete = {kind for kind in classes() if not inspect.isabstract(kind)}
    operators = {kind for kind in concrete if issubclass(kind, Operator | Binary)}

    assert operators == {type(spec) for spec, _ in EXAMPLES}


@every_example
def test_an_operator_describes_itself_in_one_line(
    spec: Operator | Binary, schema: pa.Schema
) -> None:
    text = spec.describe(schema)

    assert text
    assert "\n" not in text
    assert "(" not in text, "a sentence, and not the code of the specification"
    assert text[0].islower()


@every_example
def test_a_label_is_the_same_in_every_process(spec: Operator | Binary, schema: pa.Schema) -> None:
    assert spec.label
    assert " at 0x" not in spec.label
    assert pickle.loads(pickle.dumps(spec)).label == spec.label  # noqa: S301 - ours


@every_operator
def test_an_operator_is_small_and_declares_how_it_takes_rows(spec: Operator) -> None:
    assert not hasattr(spec, "__dict__"), "a base class without __slots__"
    assert spec.takes in get_args(Takes)
    assert isinstance(spec, Optimistic) == (spec.takes == "one batch")


@every_example
def test_rows_that_are_kept_have_the_columns_that_they_had(
    spec: Operator | Binary, schema: pa.Schema
) -> None:
    if isinstance(spec, Operator) and spec.keeps_rows:
        assert spec.output_schema(schema) == schema


@every_operator
def test_no_operator_leads_by_more_than_it_declares(spec: Operator) -> None:
    assert all(spec.passes(watermark) <= watermark + spec.leads for watermark in range(-50, 50))


def test_windows_have_deadlines_and_rows_to_sort_are_due_at_their_time() -> None:
    times = np.array([0, 3, 4, 9])

    # 0 is in [-8, 2), [-4, 6) and [0, 10).
    assert HOPS.deadlines(times).tolist() == [1, 5, 5, 9]
    assert HOPS.last_deadlines(times).tolist() == [9, 9, 13, 17]
    assert Sort(TIME).deadlines(times).tolist() == times.tolist()


@given(st.lists(st.integers(-30, 30), min_size=1), st.integers(-30, 40))
def test_a_row_is_late_once_the_watermark_is_behind_its_last_deadline(
    times: list[int], watermark: int
) -> None:
    rows = pa.table([times, ["a"] * len(times), times], schema=SCHEMA)

    for spec in (HOPS, Sort(TIME), Levels(TIME, (0, 5))):
        running = spec.start(SCHEMA, MemoryChunks())
        running.advance(watermark)
        late = running.push(rows).late.column("time").to_pylist()

        assert late == [
            time
            for time, last in zip(times, spec.last_deadlines(np.array(times)), strict=True)
            if last < watermark
        ]


def test_keys_with_their_own_clocks_share_an_operator_if_no_state_is_of_two_of_them() -> None:
    totals = Summary((), (("total", agg.sum("n")),))
    parts = Aggregation(TIME, Windows(10, 4), (0,), (COUNT, totals))

    assert isinstance(Sort(TIME).start_clocked(SCHEMA, MemoryChunks()), ClockedSorter)
    assert isinstance(HOPS.start_clocked(SCHEMA, MemoryChunks()), ClockedAggregator)
    assert HOPS.clocked(("key",))
    assert not parts.clocked(("key",))
    levels = Levels(TIME, (0, 5))
    assert levels.clocked(("key",))
    assert isinstance(levels.start_clocked(SCHEMA, MemoryChunks()), ClockedLeveler)
    distinct = Distinct(TIME, ("key",), 5, ("key",))
    assert replace(levels, then=(distinct,)).clocked(("key",))
    assert not replace(levels, then=(distinct,)).clocked(("key", "n"))
    with pytest.raises(TypeError, match="Distinct cannot serve keys"):
        distinct.start_clocked(SCHEMA, MemoryChunks())


def test_only_windows_are_aggregated_before_rows_meet() -> None:
    found = [spec.early for spec in SPECS if spec.early is not None]
    last = Aggregation(TIME, Windows(10, 10), (0,), (Summary((), (("v", agg.last("value")),)),))

    assert found == [HOPS]
    assert not HOPS.minds_arrival
    assert last.minds_arrival


@pytest.mark.parametrize(
    ("spec", "schema"), [(Changelog(), ITEMS), (Lifetimes(TIME), SCHEMA)], ids=["items", "rows"]
)
def test_operators_that_respond_at_once_release_nothing_later(
    spec: Operator, schema: pa.Schema
) -> None:
    running = spec.start(schema, MemoryChunks())

    emission = running.advance(FOREVER)

    assert isinstance(running, Responder)
    assert emission.ready.num_rows == emission.late.num_rows == 0
    assert emission.ready.schema == spec.output_schema(schema)
    assert emission.late.schema == schema
    assert (running.held, running.save(), running.due()) == (0, b"", None)
    assert running.stops(7) == [7]

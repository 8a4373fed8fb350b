from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from latecomer import agg
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.leaves import Leaves
from latecomer.operators.ways import OneWay
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.operators.windows.states import WindowStates
from latecomer.time import FOREVER, NEVER, TimeColumn

SCHEMA = pa.schema({"time": pa.int64(), "key": pa.string()})
COUNT = Summary(("key",), (("n", agg.count()),))
ONCE = Aggregation(TimeColumn("time", "us"), Windows(10, 10), (0,), (COUNT,))
TWICE = replace(ONCE, waits=(0, 5))
HOPPING = replace(ONCE, windows=Windows(10, 5))


def states(spec: Aggregation) -> WindowStates:
    return WindowStates(spec, SCHEMA, Leaves(MemoryChunks()))


def add(held: WindowStates, spec: Aggregation, watermark: int, *rows: tuple[int, str]) -> None:
    """Add rows that arrive at a watermark."""
    table = pa.Table.from_pylist([{"time": time, "key": key} for time, key in rows], SCHEMA)
    made = spec.partial(table)
    held.add(made, np.full(made.num_rows, watermark))


def told(held: WindowStates, before: int, now: int) -> list[tuple]:
    found = held.answers(OneWay(before, now))
    rows = found.drop_columns(["window"]).to_pylist()
    starts = [window["start"] for window in found["window"].to_pylist()]
    return sorted((start, *row.values()) for start, row in zip(starts, rows, strict=True))


def test_a_window_is_answered_for_when_the_watermark_reaches_its_end() -> None:
    held = states(ONCE)
    add(held, ONCE, 0, (3, "a"), (9, "a"), (4, "b"), (10, "a"))

    assert told(held, 0, 9) == []
    assert told(held, 9, 10) == [(0, "a", 2), (0, "b", 1)]
    assert told(held, 10, 20) == [(10, "a", 1)]


def test_a_row_counts_in_every_window_that_it_is_in() -> None:
    held = states(HOPPING)
    add(held, HOPPING, NEVER, (3, "a"), (7, "a"))

    assert told(held, NEVER, 10) == [(-5, "a", 1), (0, "a", 2)]
    assert told(held, 10, 15) == [(5, "a", 1)]


def test_levels_answer_one_after_the_other_and_say_what_changed() -> None:
    held = states(TWICE)
    # The watermark is that of the last level, which is 5 behind the first.
    add(held, TWICE, 0, (3, "a"), (4, "b"))
    first = told(held, 0, 5)
    add(held, TWICE, 5, (9, "a"))
    second = told(held, 5, 10)

    assert [(key, n, final, changed) for _, key, n, _, final, changed in first] == [
        ("a", 1, False, True),
        ("b", 1, False, True),
    ]
    assert [(key, n, final, changed) for _, key, n, _, final, changed in second] == [
        ("a", 2, True, True),
        ("b", 1, True, False),
    ]


def test_answers_that_have_not_changed_can_be_left_out() -> None:
    spec = replace(TWICE, only_changes=True)
    held = states(spec)
    add(held, spec, 0, (3, "a"), (4, "b"))
    told(held, 0, 5)
    add(held, spec, 5, (9, "a"))

    assert [row[1] for row in told(held, 5, 10)] == ["a"]


def test_rows_are_counted_for_the_level_that_first_saw_them() -> None:
    held = states(TWICE)
    add(held, TWICE, 0, (3, "a"), (4, "b"))
    # The first level gave its result at 5, so rows now are in time for the last level only.
    add(held, TWICE, 5, (9, "a"))

    assert held.closing(OneWay(5, 9)) == (0, 0)
    assert held.closing(OneWay(9, 10)) == (2, 1)


def test_before_the_first_watermark_every_row_is_in_time_for_all() -> None:
    held = states(TWICE)
    add(held, TWICE, NEVER, (3, "a"))

    assert held.closing(OneWay(NEVER, 10)) == (1, 0)


def test_states_are_forgotten_when_their_last_window_has_closed() -> None:
    held = states(HOPPING)
    add(held, HOPPING, NEVER, (3, "a"), (7, "a"))

    held.close(OneWay(NEVER, 10))
    assert held.leaves.rows == 1
    held.close(OneWay(10, 15))
    assert held.leaves.rows == 0


def test_a_leaf_is_dropped_when_all_in_it_is_closed() -> None:
    held = states(ONCE)
    add(held, ONCE, NEVER, (3, "a"), (13, "a"))

    held.drop(19)
    assert held.leaves.rows == 2
    held.drop(20)
    assert held.leaves.rows == 0


def test_the_next_watermark_with_a_result_is_known() -> None:
    held = states(TWICE)
    assert held.due(NEVER) is None
    add(held, TWICE, 0, (3, "a"))

    assert held.due(0) == 5
    # The first level has given its result; the last level is next.
    assert held.due(5) == 10


def test_at_the_end_every_window_is_answered_for_by_all_levels() -> None:
    held = states(TWICE)
    add(held, TWICE, NEVER, (3, "a"), (33, "a"))

    assert [(row[0], row[4]) for row in told(held, NEVER, FOREVER)] == [
        (0, False),
        (0, True),
        (30, False),
        (30, True),
    ]


def test_results_can_be_summarised_again_within_a_window() -> None:
    busiest = Summary((), (("most", agg.max("n")), ("keys", agg.count())))
    spec = replace(ONCE, summaries=(COUNT, busiest))
    held = states(spec)
    add(held, spec, 0, (3, "a"), (9, "a"), (4, "b"))

    assert told(held, 0, 10) == [(0, 2, 2)]

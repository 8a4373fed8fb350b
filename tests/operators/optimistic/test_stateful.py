"""Stateful steps, compared with the paper's cycle, and the number of their updates."""

from collections import Counter
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.errors import UpdateError
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.optimistic.items import MARKS
from latecomer.operators.optimistic.stateful import Stateful, StateUpdater
from tests.support import optimistic_twins as twins
from tests.support.chains import OUTPUT, SCHEMA, TIME, Seen, append, many

ITEM = pa.schema([*SCHEMA, *MARKS])
NUMBER = pa.schema([("total", pa.int64())])


def started(
    update: Any,  # noqa: ANN401
    initial: object,
    outputs: pa.Schema = NUMBER,
    every: int = 4,
) -> StateUpdater:
    spec = Stateful(TIME, ("key",), update, initial, outputs, every)
    return spec.start(ITEM, MemoryChunks())


def items(*rows: tuple[int, str, int], sign: int = 1) -> pa.Table:
    made = [(*row, sign, ord(row[1]), 0, 0) for row in rows]
    return pa.Table.from_pylist([dict(zip(ITEM.names, r, strict=True)) for r in made], ITEM)


def said(running: StateUpdater, batch: pa.Table) -> list[tuple[int, int, object]]:
    rows = running.push(batch).ready.to_pylist()
    return [(row["_lc_sign"], row["time"], row["total"]) for row in rows]


def summed(state: int, row: Seen) -> tuple[int, tuple[int]]:
    return state + row.value, (state + row.value,)


def test_a_straggler_is_inserted_at_its_time() -> None:
    sums = started(summed, 0)

    assert said(sums, items((1, "k", 5))) == [(1, 1, 5)]
    assert said(sums, items((3, "k", 3))) == [(1, 3, 8)]
    assert said(sums, items((2, "k", 2))) == [(-1, 3, 8), (1, 2, 7), (1, 3, 10)]
    assert said(sums, items((2, "k", 2), sign=-1)) == [(-1, 2, 7), (-1, 3, 10), (1, 3, 8)]


def test_an_output_that_stays_the_same_is_not_emitted_again() -> None:
    def largest(state: int, row: Seen) -> tuple[int, tuple[int]]:
        return max(state, row.value), (max(state, row.value),)

    running = started(largest, 0)
    running.push(items((1, "k", 9), (3, "k", 4)))

    assert said(running, items((2, "k", 3))) == [(1, 2, 9)]
    assert running.cancelled == 2


def test_a_corrected_row_with_the_same_output_emits_nothing() -> None:
    running = started(lambda state, _row: (state + 1, (state,)), 0)
    running.push(items((1, "k", 1), (2, "k", 2)))
    other = items((1, "k", 5)).set_column(ITEM.names.index("_lc_trace"), "_lc_trace", pa.array([7]))

    assert said(running, pa.concat_tables([items((1, "k", 1), sign=-1), other])) == []
    assert running.cancelled == 4


@settings(max_examples=50)
@given(
    chosen=st.lists(st.tuples(st.integers(0, 9), st.sampled_from("ab")), max_size=14),
    every=st.integers(1, 4),
    one_by_one=st.booleans(),
)
@pytest.mark.parametrize(("update", "initial"), [(append, ""), (many, 0)])
def test_the_output_is_the_net_change_of_the_papers_cycle(
    update: Any,  # noqa: ANN401
    initial: object,
    chosen: list[tuple[int, str]],
    every: int,
    one_by_one: bool,  # noqa: FBT001
) -> None:
    running = started(update, initial, OUTPUT, every)
    twin = twins.Stateful(lambda state, value: update(state, Valued(value)), initial)
    there: set[tuple[int, str]] = set()
    batch, expected = [], []
    for number, (time, key) in enumerate(chosen, 1):
        sign = -1 if (time, key) in there else 1
        there ^= {(time, key)}
        batch.append(items((time, key, time), sign=sign))
        expected += twin.push(sign, twins.Item((time, key), key, time))
        if one_by_one or number == len(chosen):
            found: Counter[Any] = Counter()
            for row in running.push(pa.concat_tables(batch)).ready.to_pylist():
                place = row["time"], row["key"], row["_lc_child_0"]
                found[place, row["output"]] += row["_lc_sign"]
            left = Counter(
                {
                    (place, text.strip("(',)") + "," * (update is append)): count
                    for (place, text), count in twins.net(expected).items()
                }
            )
            assert found == left
            batch, expected = [], []


class Valued:
    """The columns of a row that these functions read."""

    def __init__(self, value: int) -> None:
        self.value = value


def test_an_item_in_order_costs_one_update() -> None:
    sums = started(summed, 0, every=64)
    for time in range(200):
        sums.push(items((time, "k", 1)))

    assert sums.updates == 200


def test_a_straggler_costs_updates_from_the_kept_state_before_it_to_the_end() -> None:
    sums = started(summed, 0, every=16)
    for time in range(200):
        sums.push(items((2 * time, "k", 1)))
    before = sums.updates
    sums.push(items((301, "k", 1)))

    behind = 49 + 1
    assert behind <= sums.updates - before < behind + 16
    # One straggler leaves the kept states in place, or adds some.
    before = sums.updates
    sums.push(items((303, "k", 1)))
    assert sums.updates - before < behind + 16


def test_a_straggler_that_changes_no_later_state_costs_updates_up_to_the_next_kept_state() -> None:
    def last(state: int, row: Seen) -> tuple[int, tuple[int]]:
        return row.value, (row.value - state,)

    running = started(last, 0, every=8)
    running.push(items(*((2 * time, "k", time) for time in range(500))))
    before = running.updates
    made = said(running, items((201, "k", 7)))

    assert len(made) == 3
    assert running.updates - before <= 2 * 8


def test_a_micro_batch_with_many_stragglers_runs_once() -> None:
    sums = started(summed, 0)
    sums.push(items(*((2 * time, "k", 1) for time in range(100))))
    before = sums.updates
    made = said(sums, items(*((2 * time + 1, "k", 1) for time in range(100))))

    assert sums.updates - before == 200
    # No new item comes before the first item.
    assert len(made) == 100 - 1 + 200 - 1


def test_a_state_may_be_changed_in_place() -> None:
    def listed(state: list[int], row: Seen) -> tuple[list[int], tuple[int]]:
        state.append(row.value)
        return state, (int("".join(map(str, state))),)

    running = started(listed, [], every=2)
    running.push(items((1, "k", 1), (2, "k", 2), (4, "k", 4)))

    assert said(running, items((3, "k", 3))) == [(-1, 4, 124), (1, 3, 123), (1, 4, 1234)]
    assert said(running, items((1, "l", 7))) == [(1, 1, 7)]


def test_an_emitted_state_keeps_its_value_when_it_is_changed_in_place() -> None:
    def listed(state: list[int], row: Seen) -> tuple[list[int], tuple[list[int]]]:
        state.append(row.value)
        return state, (state,)

    running = started(listed, [], pa.schema([("total", pa.list_(pa.int64()))]))

    batch = items((1, "k", 1), (2, "k", 2), (3, "k", 3))
    assert said(running, batch) == [(1, 1, [1]), (1, 2, [1, 2]), (1, 3, [1, 2, 3])]


def test_before_the_watermark_one_state_of_each_key_is_held() -> None:
    sums = started(summed, 0, every=8)
    sums.push(items(*((time, key, 1) for time in range(100) for key in "abc")))
    sums.advance(1_000)

    assert sums.held == 3
    assert said(sums, items((2_000, "a", 1))) == [(1, 2_000, 101)]


def test_a_key_whose_state_is_the_initial_one_is_forgotten() -> None:
    sums = started(summed, 0)
    sums.push(items((1, "a", 5), (2, "a", -5), (1, "b", 5)))
    sums.advance(1_000)

    assert sums.held == 1
    made = said(sums, items((2_000, "a", 1), (2_001, "b", 1)))
    assert sorted(made) == [(1, 2_000, 1), (1, 2_001, 6)]


def test_a_failure_names_the_row_and_the_state() -> None:
    def divided(state: int, row: Seen) -> tuple[int, tuple[int]]:
        return state + 1, (10 // row.value,)

    running = started(divided, 0)
    with pytest.raises(UpdateError) as caught:
        running.push(items((1, "k", 5), (2, "k", 0)))

    assert str(caught.value).partition("<locals>.")[2] == (
        "divided failed with ZeroDivisionError: integer division or modulo by zero; it was "
        "called with the row time=2, key=k, value=0 and the state 1.\n"
        "Hint: handle such rows in the function, or leave them out with where() first."
    )
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (3, "must return a state and outputs; it returned 3 for the row"),
        ((0, (1, 2)), 'returned (1, 2), which is not a row of "total"; it was called with the row'),
        ((0, [{"sum": 1}]), "returned {'sum': 1}, which is not a row of"),
        (
            (0, "much"),
            "returned 'much' for column \"total\", which is of type int64; it was called with",
        ),
        ((0, [1, 2.5]), 'returned 2.5 for column "total"'),
        ((0, np.float32(2.5)), 'returned np.float32(2.5) for column "total"'),
        ((0, Decimal("2.5")), "returned Decimal('2.5') for column \"total\""),
    ],
)
def test_an_invalid_return_value_is_shown_with_its_row(returned: object, message: str) -> None:
    running = started(lambda _state, _row: returned, 0)

    with pytest.raises(UpdateError, match="Hint: ") as caught:
        running.push(items((1, "k", 5)))
    assert message in str(caught.value)


def test_fractions_inside_lists_and_structs_are_not_cut_off() -> None:
    kind = pa.list_(pa.struct([("cents", pa.int64())]))
    running = started(lambda s, _row: (s, ([{"cents": 2.5}],)), 0, pa.schema([("total", kind)]))

    with pytest.raises(UpdateError, match=r"returned .*2\.5.* for column"):
        running.push(items((1, "k", 5)))


class Adding:
    def __call__(self, state: int, row: Seen) -> tuple[int, None]:
        return state + row.value, None


@pytest.mark.parametrize("make", [Adding, lambda: partial(summed)])
def test_an_object_that_is_called_has_the_same_name_after_a_restart(make: Any) -> None:  # noqa: ANN401
    labels = {Stateful(TIME, ("key",), make(), 0, NUMBER).label for _ in range(2)}

    assert len(labels) == 1
    assert "0x" not in labels.pop()


def test_a_state_that_cannot_be_written_down_is_refused() -> None:
    running = started(lambda _state, _row: ((lambda: 1), None), 0)

    with pytest.raises(UpdateError, match="value=5; a state must be one that can be saved"):
        running.push(items((1, "k", 5)))


def test_an_output_that_fails_is_reported_with_its_row() -> None:
    running = started(lambda state, row: (state, (1 // each for each in [row.value])), 0)

    with pytest.raises(UpdateError, match=r"failed with ZeroDivisionError.*value=0"):
        running.push(items((1, "k", 5), (2, "k", 0)))


@pytest.mark.parametrize(
    ("initial", "equal"), [(0, 0.0), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (1, True)]
)
def test_a_key_whose_state_equals_the_initial_one_is_forgotten(
    initial: object, equal: object
) -> None:
    running = started(lambda _state, row: (equal, (row.value,)), initial)
    running.push(items((1, "k", 5)))
    running.advance(10)

    assert running.held == 0


def test_a_watermark_may_be_before_the_first_kept_state_of_a_key() -> None:
    sums = started(summed, 0, every=64)
    sums.push(items(*((time, "k", 1) for time in range(1, 101))))
    # Without these items, no state before the watermark is kept.
    sums.push(items(*((time, "k", 1) for time in range(13, 100)), sign=-1))

    sums.advance(12)

    assert said(sums, items((101, "k", 1))) == [(1, 101, 14)]

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.operators.aggregates.base import Aggregate
from latecomer.operators.temporal.edges import FINAL, Edges
from latecomer.operators.temporal.stretches import Stretches, covered, is_direct
from latecomer.time import FOREVER

ROWS = pa.schema({"v": pa.int64(), "x": pa.float64()})


def cut(rows: Sequence[tuple[int, int, str]], until: int | Sequence[int]) -> Stretches:
    """Cut states with a begin, an end and a key."""
    at, other, keys = (list(column) for column in zip(*rows, strict=True))
    none = np.full(len(rows), FINAL)
    states = Edges(np.array(at), np.array(other), none, pa.table({"key": keys}))
    return Stretches.of(states, ("key",), np.array(until))


A_AND_B = [(1, 6, "a"), (2, 9, "b"), (4, 9, "a")]


def test_the_time_of_a_key_is_cut_where_a_state_begins_or_ends() -> None:
    found = cut(A_AND_B, until=7)

    assert found.starts.tolist() == [1, 2, 4, 6]
    assert found.ends.tolist() == [4, FOREVER, 6, FOREVER]
    assert found.rows.tolist() == [1, 1, 2, 1]
    assert found.before.tolist() == [-1, -1, 0, 2]
    assert found.firsts.tolist() == [0, 1, 2]
    assert found.stops.tolist() == [3, -1, -1]


def test_a_state_has_ended_by_the_watermark_of_its_key() -> None:
    found = cut(A_AND_B, until=[5, 9, 5])

    assert found.stops.tolist() == [-1, 3, -1]
    assert found.ends[found.lasts[found.codes]].tolist() == [FOREVER] * 3


def test_stretches_are_numbered_one_key_after_the_other() -> None:
    numbers, firsts, stops = cut(A_AND_B, until=7).by_key()

    assert numbers.tolist() == [0, 3, 1, 2]
    assert firsts.tolist() == [0, 3, 1]
    # A state that has not ended covers all stretches of its key from its first one on.
    assert stops.tolist() == [2, 4, 3]


@pytest.mark.parametrize(
    ("made", "states", "expected"),
    [
        (agg.sum("v"), [10, None, 30], [10, None, 40, 30]),
        (agg.max("v"), [10, None, 5], [10, None, 10, 5]),
        (agg.min("v"), [10, 7, 5], [10, 7, 5, 5]),
    ],
    ids=["sum", "max", "min"],
)
def test_each_stretch_has_the_aggregate_of_the_states_that_cover_it(
    made: Aggregate, states: list[int | None], expected: list[int | None]
) -> None:
    stretches, every = cut(A_AND_B, until=7), np.arange(4)

    found = covered(made, [pa.array(states, pa.int64())], stretches, every)

    assert is_direct(made, ROWS)
    assert found is not None
    assert found[0].to_pylist() == expected


def test_sums_that_might_not_fit_need_a_tree() -> None:
    states = [pa.array([2**62, 0, 2**62])]

    assert covered(agg.sum("v"), states, cut(A_AND_B, until=7), np.arange(4)) is None
    assert not is_direct(agg.sum("x"), ROWS)

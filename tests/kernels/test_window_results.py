"""The kernels of the window join, on rows that take every path through them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.joiner import WindowJoin
from latecomer.operators.window_join.tuples import Tuples
from tests.support import brute
from tests.support.window_joins import CONDITIONS, found, play, tuples


@pytest.mark.parametrize("name", CONDITIONS)
@settings(max_examples=25)
@given(data=st.data())
def test_counts_and_results_are_those_of_algorithm_2(name: str, data: st.DataObject) -> None:
    many, on, holds = CONDITIONS[name]
    received = data.draw(tuples(many, 12))
    asked = WindowJoin((3,) * many, on)

    seen, counted = play(asked, received, [5]), play(asked, received, [5], "counts")

    assert sorted(found(seen)) == sorted(brute.joined(received, asked.windows, holds))
    assert [x.joined.tolist() for x in seen] == [x.joined.tolist() for x in counted]


@pytest.mark.parametrize("answer", ["results", "counts"])
@pytest.mark.parametrize("name", ["key", "star"])
def test_many_results_are_counted_and_found(name: str, answer: str) -> None:
    _, on, _ = CONDITIONS[name]
    received = [(i % 3, i, 0) for i in range(90)]

    (seen,) = play(WindowJoin((60,) * 3, on), received, [], answer)

    assert seen.joined.sum() == len(brute.joined(received, (60,) * 3, lambda _: True))


def test_null_equals_nothing() -> None:
    schema = pa.schema({"a": pa.string()})
    rows = [pa.table([["x", None]], schema=schema), pa.table([[None, "x"]], schema=schema)]
    given_tuples = Tuples(np.array([0, 0, 1, 1]), np.array([1, 1, 1, 1]), np.arange(4), np.zeros(4))
    for answer in ("results", "counts"):
        joiner = WindowJoin((1, 1), Equalities.common("a", "a")).start([schema] * 2, answer)  # type: ignore[arg-type]

        assert joiner.push(given_tuples, rows).joined.tolist() == [0, 0, 0, 1]


def test_rows_must_be_equal_in_all_pairs_not_only_in_those_by_which_they_are_found() -> None:
    _, on, _ = CONDITIONS["circle"]

    (seen,) = play(WindowJoin((9,) * 3, on), [(0, 1, 0), (1, 2, 0), (2, 3, 2), (2, 4, 0)], [])

    assert seen.joined.tolist() == [0, 0, 0, 1]

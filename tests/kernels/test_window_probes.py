"""The kernels of the window join, on rows that take every path through them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.joiner import WindowJoin
from latecomer.operators.window_join.known_rows import KnownRows
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
    on = Equalities.common("a", "a")
    known = KnownRows(on, rows, [np.array([0, 1]), np.array([2, 3])])
    given_tuples = Tuples(
        np.array([0, 0, 1, 1]), np.array([1, 1, 1, 1]), np.arange(4), np.arange(4)
    )
    for answer in ("results", "counts"):
        joiner = WindowJoin((1, 1), on).start(answer)  # type: ignore[arg-type]

        assert joiner.push(given_tuples, known).joined.tolist() == [0, 0, 0, 1]


def test_rows_must_be_equal_in_all_pairs_not_only_in_those_by_which_they_are_found() -> None:
    _, on, _ = CONDITIONS["circle"]

    (seen,) = play(WindowJoin((9,) * 3, on), [(0, 1, 0), (1, 2, 0), (2, 3, 2), (2, 4, 0)], [])

    assert seen.joined.tolist() == [0, 0, 0, 1]


def test_a_row_that_is_exactly_as_old_as_the_window_is_long_is_still_in_it() -> None:
    _, on, _ = CONDITIONS["cross"]

    (seen,) = play(WindowJoin((5, 5), on), [(0, 0, 0), (0, 1, 0), (1, 5, 0), (1, 6, 0)], [])

    assert seen.cross.tolist() == seen.joined.tolist() == [0, 0, 2, 1]


def test_a_row_of_a_star_finds_partners_through_the_rows_of_the_centre() -> None:
    # The centre is stream 1. It shares column a with stream 0 and b with stream 2; v is 2a + b.
    _, on, _ = CONDITIONS["star"]
    received = [(1, 1, 0), (1, 2, 2), (0, 3, 0), (2, 4, 0), (2, 5, 1), (0, 6, 2)]

    (seen,) = play(WindowJoin((9, 9, 9), on), received, [], "counts")

    assert seen.cross.tolist() == [0, 0, 0, 2, 2, 4]
    # At 4: the row of the centre at 1 has a partner in stream 0, that at 2 has none.
    # At 6: the row of the centre at 2 has the partner at 4; the one at 5 has another key.
    assert seen.joined.tolist() == [0, 0, 0, 1, 0, 1]


def test_more_results_than_an_integer_holds_are_counted() -> None:
    many = 13
    received = [(stream, 0, 0) for stream in range(many) for _ in range(32)] + [(many, 0, 0)]

    (seen,) = play(WindowJoin((1,) * (many + 1), Equalities(many + 1)), received, [], "counts")

    assert seen.cross[-1] == seen.joined[-1] == 2.0**65

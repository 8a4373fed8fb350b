"""The join, compared with Algorithm 2 line by line, for all forms of conditions."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.errors import OptionError
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.window_join.equalities import Equalities, Pair
from latecomer.operators.window_join.joiner import WindowJoin
from latecomer.operators.window_join.known_rows import KnownRows
from latecomer.operators.window_join.tuples import Tuples
from tests.support import brute
from tests.support.cuts import cuts
from tests.support.window_joins import CONDITIONS, found, play, rows_of, tuples


@pytest.mark.parametrize("name", CONDITIONS)
@given(data=st.data(), at=cuts)
def test_the_join_does_what_algorithm_2_does(name: str, data: st.DataObject, at: list[int]) -> None:
    many, on, holds = CONDITIONS[name]
    received = data.draw(tuples(many))
    windows = tuple(data.draw(st.lists(st.integers(0, 6), min_size=many, max_size=many)))
    expected = brute.joined(received, windows, holds)

    seen = play(WindowJoin(windows, on), received, at)
    counted = play(WindowJoin(windows, on), received, at, "counts")

    assert sorted(found(seen)) == sorted(expected)
    assert [time for time, _ in found(seen)] == sorted(time for time, _ in expected)
    for one, other in zip(seen, counted, strict=True):
        assert one.joined.tolist() == other.joined.tolist()
        assert one.cross.tolist() == other.cross.tolist()


@given(received=tuples(3), at=cuts)
def test_the_cross_join_that_a_tuple_would_give_is_counted_under_any_condition(
    received: list[brute.Tuple], at: list[int]
) -> None:
    _, on, _ = CONDITIONS["circle"]
    expected = brute.joined(received, (3, 2, 4), lambda _: True)

    seen = play(WindowJoin((3, 2, 4), on), received, at)

    assert sum(float(each.cross.sum()) for each in seen) == len(expected)


@given(received=tuples(3, 15), at=cuts)
def test_a_function_is_called_for_pairs_that_meet_the_equalities(
    received: list[brute.Tuple], at: list[int]
) -> None:
    where = Condition(lambda x, y, z: x.a + y.b <= z.a)
    on = Equalities(3, (Pair(0, "b", 1, "b"),))
    expected = brute.joined(
        received,
        (4, 4, 4),
        lambda v: v[0] % 2 == v[1] % 2 and v[0] // 2 + v[1] % 2 <= v[2] // 2,
    )

    seen = play(WindowJoin((4, 4, 4), on, where), received, at)

    assert sorted(found(seen)) == sorted(expected)


def test_tuples_that_no_other_can_meet_are_forgotten() -> None:
    joiner = WindowJoin((5, 2), Equalities(2)).start()
    streams, times = np.array([0, 1, 0, 1]), np.array([0, 1, 4, 6])
    known = rows_of([(0, 0, 0), (1, 1, 0), (0, 4, 0), (1, 6, 0)], Equalities(2))

    joiner.push(Tuples(streams, times, np.arange(4), times), known)

    assert joiner.held.times.tolist() == [4, 6]


@pytest.mark.parametrize(
    ("windows", "on", "words"),
    [
        ((5,), Equalities(1), "two streams or more"),
        ((5, 5, 5), Equalities(2), "3 windows for 2 streams"),
        ((5, -1), Equalities(2), "cannot be negative; got -1"),
    ],
)
def test_columns_that_cannot_be_joined_are_refused(
    windows: tuple[int, ...], on: Equalities, words: str
) -> None:
    with pytest.raises(OptionError, match=words):
        WindowJoin(windows, on)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_numbers_that_are_equal_to_spark_are_equal(kind: pa.DataType) -> None:
    schema = pa.schema({"a": kind})
    on = Equalities.common("a", "a")
    nans = np.array([0x7FF8 << 48, (0x7FF8 << 48) + (1 << 40)], np.uint64).view(np.float64)
    sides = [[0.0, nans[0], None], [-0.0, nans[1], None]]
    streams, times = np.array([0, 0, 0, 1, 1, 1]), np.zeros(6, np.int64)

    rows = [pa.table([pa.array(side, pa.float64()).cast(kind)], schema=schema) for side in sides]
    known = KnownRows(on, rows, [np.arange(3)] * 2)
    tuples = Tuples(streams, times, np.array([0, 1, 2, 0, 1, 2]), times)
    probes = WindowJoin((5, 5), on).start().push(tuples, known)

    assert probes.results.tolist() == [[0, 0], [1, 1]]

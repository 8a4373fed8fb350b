"""The join, against Algorithm 2 line by line, for all forms of conditions."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.errors import OptionError
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.window_join.equalities import Equalities, Pair
from latecomer.operators.window_join.joiner import Probes, WindowJoin
from latecomer.operators.window_join.tuples import Tuples
from tests.operators.window_join.test_sorting import cuts, parts
from tests.support import brute

SCHEMA = pa.schema({"a": pa.int64(), "b": pa.int64()})
"""A value v is a = v // 2 and b = v % 2."""

Holds = Callable[[tuple[int, ...]], bool]

CONDITIONS: dict[str, tuple[int, Equalities, Holds]] = {
    "cross": (2, Equalities(2), lambda _: True),
    "cross of three": (3, Equalities(3), lambda _: True),
    "key of two": (2, Equalities.common("a", "a"), lambda v: v[0] // 2 == v[1] // 2),
    "key": (3, Equalities.common("a", "b", "a"), lambda v: v[0] // 2 == v[1] % 2 == v[2] // 2),
    "star": (
        3,
        Equalities(3, (Pair(1, "a", 0, "a"), Pair(1, "b", 2, "b"))),
        lambda v: v[0] // 2 == v[1] // 2 and v[1] % 2 == v[2] % 2,
    ),
    "path": (
        4,
        Equalities(4, (Pair(0, "a", 1, "a"), Pair(1, "b", 2, "b"), Pair(2, "a", 3, "a"))),
        lambda v: v[0] // 2 == v[1] // 2 and v[1] % 2 == v[2] % 2 and v[2] // 2 == v[3] // 2,
    ),
    "circle": (
        3,
        Equalities(3, (Pair(0, "a", 1, "a"), Pair(1, "b", 2, "b"), Pair(0, "b", 2, "a"))),
        lambda v: v[0] // 2 == v[1] // 2 and v[1] % 2 == v[2] % 2 and v[0] % 2 == v[2] // 2,
    ),
    "one pair of three": (
        3,
        Equalities(3, (Pair(0, "a", 2, "b"),)),
        lambda v: v[0] // 2 == v[2] % 2,
    ),
}


def play(
    asked: WindowJoin, received: Sequence[brute.Tuple], at: list[int], answer: str = "results"
) -> list[Probes]:
    joiner = asked.start([SCHEMA] * len(asked.windows), answer)  # type: ignore[arg-type]
    seen = []
    for start, stop in parts(len(received), at):
        some = received[start:stop]
        streams, times = (np.array([each[i] for each in some], np.int64) for i in range(2))
        rows = [
            pa.table(
                [[v // 2 for s, _, v in some if s == i], [v % 2 for s, _, v in some if s == i]],
                schema=SCHEMA,
            )
            for i in range(len(asked.windows))
        ]
        seen.append(joiner.push(Tuples(streams, times, np.arange(start, stop), times), rows))
    return seen


def found(seen: list[Probes]) -> list[brute.Result]:
    return [
        (time, tuple(rows))
        for each in seen
        for time, rows in zip(each.times.tolist(), each.results.tolist(), strict=True)
    ]


def tuples(streams: int, size: int = 22) -> st.SearchStrategy[list[brute.Tuple]]:
    each = st.tuples(st.integers(0, streams - 1), st.integers(-4, 10), st.integers(0, 3))
    return st.lists(each, max_size=size)


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
def test_a_function_is_asked_of_what_the_equalities_leave(
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


def test_what_no_tuple_can_meet_any_more_is_forgotten() -> None:
    joiner = WindowJoin((5, 2), Equalities(2)).start([SCHEMA] * 2)
    streams, times = np.array([0, 1, 0, 1]), np.array([0, 1, 4, 6])
    rows = pa.table([[0, 0], [0, 0]], schema=SCHEMA)

    joiner.push(Tuples(streams, times, np.arange(4), times), [rows, rows])

    assert joiner.held.times.tolist() == [4, 6]


@pytest.mark.parametrize(
    ("windows", "on", "words"),
    [
        ((5,), Equalities(1), "two streams or more"),
        ((5, 5, 5), Equalities(2), "3 windows for 2 streams"),
        ((5, -1), Equalities(2), "cannot be negative; got -1"),
    ],
)
def test_what_cannot_be_joined_is_refused(
    windows: tuple[int, ...], on: Equalities, words: str
) -> None:
    with pytest.raises(OptionError, match=words):
        WindowJoin(windows, on)


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_numbers_that_are_equal_to_spark_are_equal(kind: pa.DataType) -> None:
    schema = pa.schema({"a": kind})
    joiner = WindowJoin((5, 5), Equalities.common("a", "a")).start([schema] * 2)
    nans = np.array([0x7FF8 << 48, (0x7FF8 << 48) + (1 << 40)], np.uint64).view(np.float64)
    sides = [[0.0, nans[0], None], [-0.0, nans[1], None]]
    streams, times = np.array([0, 0, 0, 1, 1, 1]), np.zeros(6, np.int64)

    rows = [pa.table([pa.array(side, pa.float64()).cast(kind)], schema=schema) for side in sides]
    probes = joiner.push(Tuples(streams, times, np.array([0, 1, 2, 0, 1, 2]), times), rows)

    assert probes.results.tolist() == [[0, 0], [1, 1]]

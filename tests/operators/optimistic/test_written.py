"""States are written as JSON if possible, otherwise pickled."""

import math
from collections import Counter, namedtuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.errors import OptionError, StateFormatError
from latecomer.operators.optimistic.written import (
    frozen,
    frozen_numbers,
    thawed,
    thawed_all,
    thawed_numbers,
)

Point = namedtuple("Point", "x y")  # noqa: PYI024 - one without types is a state, too

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
)
KEYS = SCALARS | st.tuples(SCALARS, SCALARS) | st.frozensets(SCALARS, max_size=3)
STATES = st.recursive(
    SCALARS,
    lambda part: (
        st.lists(part) | st.tuples(part, part) | st.dictionaries(KEYS, part) | st.sets(KEYS)
    ),
    max_leaves=6,
)


def typed(state: object) -> object:
    """Return a value with its type, so that 1, 1.0 and True differ."""
    if isinstance(state, dict):
        return [(typed(key), typed(value)) for key, value in state.items()]
    if isinstance(state, set | frozenset):
        return type(state), sorted(repr(typed(each)) for each in state)
    if isinstance(state, list | tuple):
        return type(state), [typed(each) for each in state]
    return type(state), repr(state)


@given(STATES)
def test_a_state_of_plain_values_is_written_as_json_and_read_as_it_was(state: object) -> None:
    written = frozen(state)

    assert written[:1] == b"j"
    assert typed(thawed(written)) == typed(state)


WHOLE = st.integers(-(2**63), 2**63 - 1)
COLUMNS = st.tuples(*(st.lists(each, max_size=5) for each in (WHOLE, st.floats(), st.booleans())))


@given(st.lists(STATES))
def test_many_states_are_read_as_one_by_one(states: list[object]) -> None:
    written = [frozen(state) for state in states]

    assert typed(thawed_all(written)) == typed([thawed(each) for each in written])


@given(COLUMNS)
def test_many_numbers_are_written_as_one_by_one(columns: tuple[list[float], ...]) -> None:
    kinds = (np.int64, np.float64, np.bool_)
    for numbers, kind in zip(columns, kinds, strict=True):
        written = frozen_numbers([np.array(numbers, kind)], is_tuple=False)
        assert written.to_pylist() == [frozen(each) for each in numbers]
    rows = [*zip(*columns, strict=False)]
    cut = [np.array(each[: len(rows)], kind) for each, kind in zip(columns, kinds, strict=True)]
    assert frozen_numbers(cut, is_tuple=True).to_pylist() == [frozen(row) for row in rows]


EXACT = st.integers(-(2**53), 2**53)
ROWS = st.lists(EXACT) | st.lists(st.tuples(EXACT, st.floats(-1e9, 1e9), EXACT | st.just(0.5)))


@given(ROWS)
def test_many_states_of_numbers_are_read_as_columns(states: list[object]) -> None:
    found = thawed_numbers(pa.array([frozen(state) for state in states], pa.binary()))

    if not states:
        assert found is None
        return
    assert found is not None
    assert found.is_tuple == isinstance(states[0], tuple)
    rows = states if found.is_tuple else [(state,) for state in states]
    expected = [np.array(column) for column in zip(*rows, strict=True)]
    assert [column.tolist() for column in found.columns] == [each.tolist() for each in expected]
    assert found.kinds == tuple(each.dtype.str for each in expected)


@pytest.mark.parametrize(
    "states",
    [
        [1, "2"],
        [1, None],
        [True],
        [(1, 2), (1, 2, 3)],
        [(1, 2), 3],
        [(1, [2])],
        [()],
        [{1: 2}],
        [2**53 + 1],
        [-(2**63)],
        [2**70],
        [math.inf],
        [math.nan],
        [(1, "], 2")],
        [Counter()],
    ],
)
def test_other_states_are_not_read_as_columns(states: list[object]) -> None:
    assert thawed_numbers(pa.array([frozen(state) for state in states], pa.binary())) is None


def test_one_of_many_states_that_cannot_be_read_is_an_error() -> None:
    for broken in (b"j", b"j1,2", b'j["unknown", 1]', b"x1"):
        with pytest.raises(StateFormatError):
            thawed_all([frozen(1), broken])


def test_nan_and_infinity_are_states_too() -> None:
    assert math.isnan(thawed(frozen(math.nan)))
    assert thawed(frozen([math.inf, -0.0])) == [math.inf, 0.0]


@pytest.mark.parametrize("state", [Counter("ab"), Point(1, 2), [Point(1, [])], 1j])
def test_a_state_of_another_class_is_pickled(state: object) -> None:
    written = frozen(state)

    assert written[:1] == b"p"
    assert thawed(written) == state
    assert type(thawed(written)) is type(state)


def test_a_list_that_is_there_twice_stays_one() -> None:
    shared: list[int] = []
    first, second = thawed(frozen((shared, shared)))
    ring: list[object] = []
    ring.append(ring)

    first.append(1)
    assert second == [1]
    assert (again := thawed(frozen(ring)))[0] is again


@pytest.mark.parametrize("written", [b"", b"x1", b"j", b'j["other", 1]', b"j[]", b"p123", b"{}"])
def test_bytes_that_are_no_state_are_refused(written: bytes) -> None:
    with pytest.raises(StateFormatError, match="a function's state that cannot be read"):
        thawed(written)


def test_a_state_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(OptionError, match="a state must be one that can be saved; got"):
        frozen(lambda: 1)

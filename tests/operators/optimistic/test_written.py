"""States are written as JSON, unless that cannot be."""

import math
from collections import Counter, namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.errors import OptionError, StateFormatError
from latecomer.operators.optimistic.written import frozen, frozen_numbers, thawed, thawed_all

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


NUMBERS = st.booleans() | st.integers() | st.floats()


@given(st.lists(STATES))
def test_many_states_are_read_as_one_by_one(states: list[object]) -> None:
    written = [frozen(state) for state in states]

    assert typed(thawed_all(written)) == typed([thawed(each) for each in written])


@given(st.lists(NUMBERS), st.lists(st.tuples(NUMBERS, NUMBERS)))
def test_many_numbers_are_written_as_one_by_one(
    numbers: list[float], pairs: list[tuple[float, float]]
) -> None:
    columns = [[*column] for column in zip(*pairs, strict=True)] or [[], []]

    assert frozen_numbers([numbers], is_tuple=False) == [frozen(each) for each in numbers]
    assert frozen_numbers(columns, is_tuple=True) == [frozen(each) for each in pairs]


def test_of_many_states_the_one_that_cannot_be_read_is_an_error() -> None:
    for broken in (b"j", b"j1,2", b'j["unknown", 1]', b"x1"):
        with pytest.raises(StateFormatError):
            thawed_all([frozen(1), broken])


def test_no_number_and_the_infinite_are_states_too() -> None:
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

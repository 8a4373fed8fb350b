"""Conditions on earlier events: compiled and called ones give the same matches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from latecomer.errors import PatternError
from latecomer.operators.patterns import where
from latecomer.operators.patterns.automaton import compiled
from latecomer.operators.patterns.shapes import Some, Then
from latecomer.operators.patterns.where import Question, arguments_of
from tests.operators.patterns.driving import (
    A,
    B,
    detect,
    event,
    expected,
    found,
    row,
    sequences,
    streams,
    told,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from latecomer.operators.patterns.shapes import Shape
    from tests.operators.patterns.oracle import Row


def is_more(row: Any, a: Any) -> bool:  # noqa: ANN401
    return row.value > a.value


def is_more_than_all(row: Any, a: Any, b: Any) -> bool:  # noqa: ANN401
    most = a.value
    for each in b:
        most = max(most, each.value)
    return row.value > most


def is_more_than_any_before(row: Any, b: Any) -> bool:  # noqa: ANN401
    return b is None or row.value > b.value


RISING = Then(A, event("b", where=is_more))
# At least twice: an event with two places, of which the last is repeated.
RECORDS = Then(A, Some(event("b", where=is_more_than_all), 2))
PERHAPS = Then(A, Then(Some(B, 0, 1), event("c", where=is_more_than_any_before)))


@given(given=streams)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("shape", [RISING, RECORDS, PERHAPS], ids=["one", "list", "missing"])
@pytest.mark.parametrize("enough", [0, 50_000], ids=["compiled", "called"])
def test_conditions_are_those_of_the_definition(
    shape: Shape, enough: int, given: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, "COMPILED_FROM", enough)
    spec = detect(shape, 4)

    assert sorted(sequences(found(spec, given), shape)) == sorted(expected(spec, shape, given))


NAMES = ("time", "value", "number", "a", "b", "c", "z")


def test_a_condition_on_numbers_is_compiled_once_it_is_worth_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(where, "COMPILED_FROM", 4)
    where._compiled.cache_clear()
    given = [row(0, "a", value=1), row(1, "b", value=1), row(2, "b", value=2)]
    loop = where._compiled(Question(compiled(RISING))._sames, NAMES, (0, 1)).loop

    for is_compiled in (False, True):
        assert sequences(found(detect(RISING), given), RISING) == [((0, "a"), (2, "b"))]
        assert bool(loop.signatures) is is_compiled


def test_a_condition_that_cannot_be_compiled_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, "COMPILED_FROM", 0)
    calls = []

    def writes(row: Any, a: Any) -> bool:  # noqa: ANN401
        calls.append((row.time, a.time))
        return True

    shape = Then(A, event("b", where=writes))
    sames = Question(compiled(shape))._sames

    assert told(shape, "a b") == ["a0 b1"]
    assert calls == [(1, 0)]
    assert not where._compiled(sames, NAMES, (0, 1)).is_possible


@pytest.mark.parametrize("enough", [0, 50_000], ids=["compiled", "called"])
def test_a_row_that_must_be_absent_is_compared_with_the_match(
    enough: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, "COMPILED_FROM", enough)
    spec = detect(A, silence=10, absent="b")
    spec = replace(spec, automaton=replace(spec.automaton, absent=is_more))
    first, second = row(0, "a", value=1), row(1, "a", value=5)
    # A row that fails the condition is not compared, and a row that comes too late has no effect.
    given = [first, second, row(2, "c", value=9), row(3, "b", value=3), row(11, "b", value=9)]

    for batch in (1, len(given)):
        assert sequences(found(spec, given, batch=batch, restart=True), A) == [((1, "a"),)]


def test_nulls_are_none() -> None:
    shape = Then(A, event("b", where=lambda row, a: row.value is None and a.value == 1))
    given = [row(0, "a", value=1), row(1, "b")._replace(value=None)]

    assert sequences(found(detect(shape), given), shape) == [((0, "a"), (1, "b"))]


def test_a_condition_survives_a_restart() -> None:
    given = [row(0, "a", value=1), row(1, "b", value=1), row(2, "b", value=2)]

    assert found(detect(RISING), given, batch=1, restart=True) == found(detect(RISING), given)


def test_a_match_may_begin_with_a_condition() -> None:
    shape = Then(event("a", where=lambda row: row.value == 1), B)
    given = [row(0, "a"), row(1, "a", value=1), row(2, "b")]

    assert sequences(found(detect(shape), given), shape) == [((1, "a"), (2, "b"))]


def test_an_argument_with_a_default_is_no_event() -> None:
    shape = Then(A, event("b", where=lambda row, a, by=2: row.value == a.value + by))
    given = [row(0, "a", value=1), row(1, "b", value=2), row(2, "b", value=3)]

    assert sequences(found(detect(shape), given), shape) == [((0, "a"), (2, "b"))]


def test_a_label_names_the_function() -> None:
    assert "is_more" in detect(RISING).label
    assert "0x" not in detect(RISING).label


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda row, other: row == other, 'asks for "other"; the events are "a", "b"'),
        (lambda: True, 'of event "b" takes no arguments'),
    ],
)
def test_a_function_that_needs_a_missing_event_is_refused(
    function: Callable[..., bool], message: str
) -> None:
    with pytest.raises(PatternError, match=message):
        arguments_of(compiled(Then(A, event("b", where=function))), 1)


def test_rows_have_the_columns_of_the_stream() -> None:
    names: list[tuple[str, ...]] = []
    shape = event("a", where=lambda row: names.append(row._fields) or True)
    told(shape, "a")

    assert names == [("time", "key", "value", "number", "a", "b", "c", "z")]
    assert isinstance(found(detect(shape), []), pa.Table)


def test_columns_are_read_by_name_only() -> None:
    shape = Then(A, event("b", where=lambda row, a: row[1] > a[1]))

    with pytest.raises(PatternError, match="column 1 of a row by its position"):
        found(detect(shape), [row(0, "a", value=1), row(1, "b", value=2)])


def test_a_condition_on_integers_that_do_not_fit_is_the_same_compiled_or_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_far = event("b", where=lambda row, a: row.value * a.value * a.value > 0)
    shape = Then(A, is_far)
    given = [row(0, "a", value=3_000_000), row(1, "b", value=3_000_000)]

    for enough in (0, 50_000):
        monkeypatch.setattr(where, "COMPILED_FROM", enough)
        assert sequences(found(detect(shape), given), shape) == [((0, "a"), (1, "b"))]

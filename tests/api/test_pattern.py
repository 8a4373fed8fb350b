"""Invalid patterns are refused, with what to do instead."""

import pytest

import latecomer as lc
from latecomer.api.pattern import MOST_EVENTS
from latecomer.operators.patterns.shapes import Either, Event, Some, Then


def test_a_pattern_is_built_step_by_step() -> None:
    pattern = (
        lc.event("a", "ad = 'X'")
        .then(lc.event("b").plus(), unless="ad = 'Z'")
        .or_(lc.event("c").star().then(lc.event("d").optional()))
        .within("1 minute")
    )

    b = Some(Event("b"), 1)
    c = Some(Event("c"), 0)
    d = Some(Event("d"), 0, 1)
    assert pattern.shape == Either(Then(Event("a", "ad = 'X'"), b, "ad = 'Z'"), Then(c, d))
    assert pattern.span == 60_000_000


def test_how_often_something_comes() -> None:
    assert lc.event("a").times(3).shape == Some(Event("a"), 3, 3)
    assert lc.event("a").times(2, 4).shape == Some(Event("a"), 2, 4)


@pytest.mark.parametrize(
    "times", [(0,), (-1,), (3, 2), (True,), (1.5,), ("3",), (1, 2.0), (-1, 2)], ids=str
)
def test_it_comes_a_whole_number_of_times(times: tuple[int, ...]) -> None:
    with pytest.raises(lc.PatternError, match=r"times needs whole numbers.*; got .*\n.*times\(3\)"):
        lc.event("a").times(*times)


def test_a_pattern_that_ends_by_absence_is_whole() -> None:
    pattern = lc.event("a").then("b").within("1 s").then_none("x > 1", duration="2 s")

    assert (pattern.span, pattern.silence, pattern.absent) == (1_000_000, 2_000_000, "x > 1")
    assert pattern.automaton().guards == ("x > 1",)
    for build in (
        lambda: pattern.then("c"),
        lambda: lc.event("c").then(pattern),
        pattern.plus,
        lambda: pattern.then_none(duration="1 s"),
    ):
        with pytest.raises(lc.PatternError, match="nothing can follow then_none"):
            build()
    with pytest.raises(lc.OptionError, match="duration must be longer than 0"):
        lc.event("a").then_none("x > 1", duration="0 s")


def test_absent_rows_may_be_compared_with_the_match() -> None:
    pattern = lc.event("a").then(lc.event("b").optional()).or_("c")

    for where in (lambda row, a: row.x == a.x, lambda row, b, c: b is None or c.x < row.x):
        automaton = pattern.then_none("x > 1", where=where, duration="2 s").automaton()
        assert automaton.absent is where
    with pytest.raises(lc.PatternError, match=r'function of then_none asks for "d"; .* "a", "b"'):
        pattern.then_none(where=lambda row, d: True, duration="2 s").automaton()  # noqa: ARG005
    with pytest.raises(lc.PatternError, match="where of then_none must be a function; got 'x'"):
        lc.event("a").then_none(where="x", duration="2 s")  # type: ignore[arg-type]


def test_a_pattern_does_not_change() -> None:
    pattern = lc.event("a")
    pattern.then("b")
    pattern.within("1 s")

    assert pattern == lc.event("a")


@pytest.mark.parametrize("name", ["", None, 7])
def test_an_event_needs_a_name(name: str) -> None:
    with pytest.raises(lc.PatternError, match=f"needs a name; got {name!r}"):
        lc.event(name)


def test_a_name_is_used_once() -> None:
    with pytest.raises(lc.PatternError, match='2 events are named "a"'):
        lc.event("a").then("A").automaton()


@pytest.mark.parametrize(
    "pattern",
    [
        lc.event("a").star(),
        lc.event("a").optional(),
        lc.event("a").star().then(lc.event("b").star()),
        lc.event("a").or_(lc.event("b").star()),
        lc.event("a").star().plus(),
    ],
)
def test_a_pattern_needs_a_row(pattern: lc.Pattern) -> None:
    with pytest.raises(lc.PatternError, match=r"without any row.*\n.*plus\(\)"):
        pattern.automaton()


def test_a_part_has_no_length() -> None:
    with pytest.raises(lc.PatternError, match="call within last"):
        lc.event("a").within("1 s").then("b")
    with pytest.raises(lc.PatternError, match="call within last"):
        lc.event("a").then(lc.event("b").within("1 s"))
    with pytest.raises(lc.OptionError, match="within was given twice"):
        lc.event("a").within("1 s").within("1 s")


def test_a_length_is_a_duration() -> None:
    with pytest.raises(lc.DurationError, match="within='soon'"):
        lc.event("a").within("soon")
    with pytest.raises(lc.OptionError, match="within must be longer than 0"):
        lc.event("a").within("0 seconds")


def test_a_condition_is_for_an_event() -> None:
    with pytest.raises(lc.PatternError, match="a whole pattern was given"):
        lc.event("a").then(lc.event("b"), "price > 10")


def test_where_is_a_function() -> None:
    with pytest.raises(lc.PatternError, match='where of event "a" must be a function'):
        lc.event("a", where="price > 10")  # type: ignore[arg-type]
    with pytest.raises(lc.PatternError, match='asks for "x"; the events are "a"'):
        lc.event("a", where=lambda row, x: row == x).automaton()


def test_events_are_as_many_as_a_number_has_bits() -> None:
    pattern = lc.event("e0")
    for number in range(1, MOST_EVENTS + 1):
        pattern = pattern.then(f"e{number}")

    with pytest.raises(lc.PatternError, match="at most 62 events; got 63"):
        pattern.automaton()

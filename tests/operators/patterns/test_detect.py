"""What is a match and what is not, whatever the batches and restarts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer import agg
from latecomer.errors import PatternError
from latecomer.hosts.local import MemoryChunks
from latecomer.operators import row_log
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.levels import Levels
from latecomer.operators.patterns import automaton
from latecomer.operators.patterns.shapes import Either, Event, Some, Then
from latecomer.time import FOREVER, NEVER, TimeColumn
from tests.operators.patterns.driving import (
    SCHEMA,
    TIME,
    A,
    B,
    C,
    detect,
    expected,
    found,
    row,
    rows,
    sequences,
    shapes,
    streams,
    table,
    told,
)

if TYPE_CHECKING:
    from latecomer.operators.patterns.shapes import Shape
    from tests.operators.patterns.oracle import Row


def plus(of: Shape) -> Some:
    return Some(of, 1)


def star(of: Shape) -> Some:
    return Some(of, 0)


def optional(of: Shape) -> Some:
    return Some(of, 0, 1)


def test_a_sequence_of_events_is_a_match() -> None:
    assert told(Then(A, B), "a b") == ["a0 b1"]
    assert told(Then(A, B), "b a") == []


def test_rows_that_are_not_the_next_event_are_skipped() -> None:
    assert told(Then(A, B), "a - c b b") == ["a0 b3"]


def test_strict_matches_skip_no_row() -> None:
    assert told(Then(A, B), "a - b a b", is_strict=True) == ["a3 b4"]


def test_each_row_that_may_begin_a_match_does() -> None:
    assert told(Then(A, B), "a a b") == ["a0 b2", "a1 b2"]


def test_matches_that_do_not_overlap_share_no_row() -> None:
    assert told(Then(A, B), "a a b a b", may_overlap=False) == ["a0 b2", "a3 b4"]
    assert told(Then(A, B), "a ab b", may_overlap=False) == ["a0 b1"]


def test_a_row_that_ends_an_attempt_without_being_taken_may_begin_another() -> None:
    assert told(Then(A, B), "a a b", may_overlap=False, is_strict=True) == ["a1 b2"]


def test_a_match_may_last_just_as_long_as_within() -> None:
    assert told(Then(A, B), "a - - b", within=3) == ["a0 b3"]
    assert told(Then(A, B), "a - - b", within=2) == []


def test_rows_of_equal_time_are_taken_in_order() -> None:
    both = [row(0, "a"), row(0, "b"), row(0, "a")]

    assert sequences(found(detect(Then(A, B), within=0), both), Then(A, B)) == [
        ((0, "a"), (1, "b"))
    ]


def test_a_row_is_one_event_of_a_match_only() -> None:
    assert told(Then(A, B), "ab") == []


def test_absence_may_last_longer_than_a_small_integer_can_say() -> None:
    time = TimeColumn("time", "s")
    spec = detect(Event("a"), 0, silence=100_000_000)
    running = replace(spec, time=time, keys=()).start(
        pa.schema({"time": pa.int8()}), MemoryChunks()
    )
    running.push(pa.table({"time": pa.array([100], pa.int8())}))

    (match,) = running.advance(FOREVER).ready.to_pylist()
    assert (match["start"], match["end"], match["a"]) == (100, 200, {"time": 100})


def test_a_pattern_may_be_one_row() -> None:
    assert told(A, "a - a") == ["a0", "a2"]


def test_an_event_without_a_condition_is_any_row() -> None:
    assert told(Then(A, Then(Event("x"), B)), "a - b b") == ["a0 x1 b2"]


def test_each_complete_match_is_reported() -> None:
    assert told(Then(A, plus(B)), "a b b") == ["a0 b1", "a0 b1 b2"]


def test_a_star_may_be_left_out() -> None:
    assert told(Then(A, Then(star(B), C)), "a c a b b c") == ["a0 c1", "a2 b3 b4 c5"]


def test_an_optional_event_comes_once_or_not_at_all() -> None:
    assert told(Then(A, Then(optional(B), C)), "a b b c") == ["a0 b1 c3"]
    assert told(Then(A, Then(optional(B), C)), "a c") == ["a0 c1"]


def test_either_of_two_events_is_a_match() -> None:
    assert told(Then(A, Either(B, C)), "a c a b") == ["a0 c1", "a2 b3"]


def test_a_row_that_meets_both_alternatives_gives_two_matches() -> None:
    assert told(Then(A, Either(B, C)), "a bc") == ["a0 b1", "a0 c1"]


def test_a_row_between_that_meets_unless_ends_the_match() -> None:
    assert told(Then(A, B, "z"), "a - b") == ["a0 b2"]
    assert told(Then(A, B, "z"), "a z b") == []
    assert told(Then(A, B, "z"), "z a b z") == ["a1 b2"]


def test_the_row_that_is_taken_is_not_between() -> None:
    assert told(Then(A, B, "z"), "a zb") == ["a0 b1"]


def test_unless_applies_to_one_place_of_the_pattern() -> None:
    pattern = Then(Then(A, star(B)), C, "z")

    assert told(pattern, "a z b c") == ["a0 b2 c3"]
    assert told(pattern, "a b z c") == []


def test_an_event_may_be_repeated_a_given_number_of_times() -> None:
    assert told(Some(A, 3, 3), "a - a a a") == ["a0 a2 a3", "a2 a3 a4"]
    assert told(Then(Some(A, 2, 3), B), "a b a b", may_overlap=False) == ["a0 a2 b3"]


def test_each_number_of_repetitions_is_reported() -> None:
    assert told(Some(A, 2, 3), "a a a a", may_overlap=False) == ["a0 a1", "a0 a1 a2"]
    assert told(Then(A, Some(B, 0, 2)), "a b b b") == ["a0", "a0 b1", "a0 b1 b2"]


def test_ways_that_name_rows_alike_are_one_match() -> None:
    assert told(Some(Some(A, 1), 2, 2), "a a a", may_overlap=False) == ["a0 a1", "a0 a1 a2"]


def test_a_pattern_may_end_by_absence() -> None:
    assert told(A, "a - - -", silence=3, absent="b") == ["a0"]
    assert told(A, "a - b -", silence=3, absent="b") == []
    # A row exactly `silence` later does not prevent the match.
    assert told(A, "a - - b", silence=3, absent="b") == ["a0"]


def test_a_row_of_equal_time_that_comes_after_it_is_not_absent() -> None:
    assert sequences(found(detect(A, silence=1, absent="b"), [row(0, "b"), row(0, "a")]), A) != []
    assert sequences(found(detect(A, silence=1, absent="b"), [row(0, "a"), row(0, "b")]), A) == []


def test_any_row_may_have_to_be_absent() -> None:
    assert told(A, "a a - -", silence=2) == []
    assert told(A, "a a - a", silence=1) == ["a0", "a1", "a3"]


def test_a_match_that_waits_for_absence_is_under_way() -> None:
    assert told(A, "a a a a", silence=2, absent="b", may_overlap=False) == ["a0", "a2"]


def test_a_match_by_absence_is_found_when_its_time_is_over() -> None:
    running = detect(Then(A, B), within=5, silence=3, absent="z").start(SCHEMA, MemoryChunks())
    running.push(table(rows("a b")))

    assert running.due() == 4
    assert running.advance(3).ready.num_rows == 0
    (match,) = running.advance(4).ready.to_pylist()
    assert (match["start"], match["end"], match["b"]["time"]) == (0, 4, 1)
    assert (running.held, running.due()) == (0, None)


def test_null_is_a_key_like_any_other() -> None:
    given = [row(0, "a", None), row(1, "b", "k"), row(2, "b", None)]

    assert sequences(found(detect(Then(A, B)), given), Then(A, B)) == [((0, "a"), (2, "b"))]


def test_a_match_has_its_bounds_its_key_and_its_rows() -> None:
    spec = detect(Then(A, Then(star(B), optional(C))))
    (match, *_) = found(spec, [row(3, "a", value=7), row(5, "b", value=8)]).to_pylist()[1:]

    assert match == {
        "start": 3,
        "end": 5,
        "key": "k",
        "a": {"time": 3, "key": "k", "value": 7, "number": 0, **_conditions("a")},
        "b": [{"time": 5, "key": "k", "value": 8, "number": 1, **_conditions("b")}],
        "c": None,
    }


def _conditions(met: str) -> dict[str, bool]:
    return {name: name == met for name in "abcz"}


def test_attempts_that_can_no_longer_be_complete_are_not_held() -> None:
    running = detect(Then(A, B), within=5).start(SCHEMA, MemoryChunks())
    running.push(table(rows("a - - a")))

    assert running.held == 2
    assert running.due() == 9
    running.advance(5)
    assert running.held == 2
    running.advance(6)
    assert running.held == 1
    running.advance(8)
    assert running.held == 1
    running.advance(9)
    assert running.held == 0


def test_a_shorter_wait_forgets_sooner() -> None:
    spec = Levels(TIME, (0, 10), (detect(Then(A, B), within=5),))
    running = spec.start(SCHEMA, MemoryChunks())
    running.push(table(rows("a")))

    held = [(running.advance(watermark), running.held)[1] for watermark in (-5, -4, 5, 6)]
    assert held == [2, 1, 1, 0]


def test_a_watermark_before_all_changes_nothing() -> None:
    running = detect(Then(A, B)).start(SCHEMA, MemoryChunks())
    running.push(table(rows("a")))
    running.advance(NEVER)

    assert running.held == 1


def test_rows_that_are_no_longer_held_are_no_longer_stored() -> None:
    chunks = MemoryChunks()
    running = detect(Then(A, B)).start(SCHEMA, chunks)
    running.push(table(rows("a")))
    running.save()
    assert len(chunks.batches) == 2
    running.advance(FOREVER)
    running.save()

    assert chunks.batches == {}


class Written(MemoryChunks):
    """Chunks that count the rows written."""

    rows = 0

    def put(self, number: int, rows: pa.Table) -> None:
        self.rows += rows.num_rows
        super().put(number, rows)


def test_only_new_rows_and_steps_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_log, "SMALL", 0)
    chunks, saved = Written(), None
    spec = detect(Then(A, B), within=100)
    for start in range(5):
        running = spec.start(SCHEMA, chunks, saved)
        running.push(table(rows("- " * 4 * start + "a a a a")[4 * start :]))
        saved = running.save()

        # Four rows, and a step for each of them.
        assert chunks.rows == 2 * 4 * (start + 1)
    running = spec.start(SCHEMA, chunks, saved)
    assert running.held == 20
    assert running.push(table(rows("- " * 20 + "b")[20:])).ready.num_rows == 20


def test_a_pattern_with_too_many_matches_under_way_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(automaton, "MOST_UNDER_WAY", 50)
    pattern = plus(Either(Event("x"), Event("y")))

    with pytest.raises(PatternError, match="than can be held"):
        found(detect(pattern), rows("- - - - - -"))


absences = st.sampled_from(
    [{}] * 2 + [{"silence": long, "absent": what} for long in (1, 3) for what in ("z", "a", None)]
)


@given(shape=shapes(), given=streams, absence=absences, strict=st.booleans(), overlap=st.booleans())
def test_matches_are_those_of_the_definition(
    shape: Shape, given: list[Row], absence: dict[str, Any], *, strict: bool, overlap: bool
) -> None:
    spec = detect(shape, 4, **absence, is_strict=strict, may_overlap=overlap)
    matches = found(spec, given)
    seen = sequences(matches, shape)

    assert sorted(seen) == sorted(expected(spec, shape, given))
    ends = [(match[-1][0], match[0][0]) for match in seen]
    assert ends == sorted(ends)


@given(
    shape=shapes(),
    given=streams,
    absence=absences,
    batch=st.integers(1, 3),
    overlap=st.booleans(),
)
def test_neither_batches_nor_restarts_change_matches(
    shape: Shape, given: list[Row], absence: dict[str, Any], batch: int, *, overlap: bool
) -> None:
    spec = detect(shape, 4, **absence, may_overlap=overlap)

    assert found(spec, given, batch=batch, restart=True) == found(spec, given)


@given(given=streams)
def test_keys_are_matched_independently(given: list[Row]) -> None:
    spec = detect(Then(A, plus(B)), 4)
    told = ["start", "end", "key"]
    together = found(spec, given).select(told).to_pylist()

    for key in ("k", None):
        alone = found(spec, [each for each in given if each.key == key])
        assert alone.select(told).to_pylist() == [m for m in together if m["key"] == key]


@given(
    shape=shapes(), given=streams, absence=absences, batch=st.integers(1, 3), restart=st.booleans()
)
def test_aggregates_are_those_of_the_rows_of_each_match(
    shape: Shape, given: list[Row], absence: dict[str, Any], batch: int, *, restart: bool
) -> None:
    spec = detect(shape, 4, **absence)
    of_all = Summary((), (("rows", agg.count()), ("last", agg.last("number"))))
    of_one = Summary((), (("own", agg.count()), ("high", agg.max("value", where="z"))))
    name = spec.automaton.events[0].name
    summed = replace(spec, summaries=(((), of_all), ((name,), of_one)))

    plain = found(spec, given, batch=batch)
    seen = found(summed, given, batch=batch, restart=restart)

    assert seen.schema.names == ["start", "end", "key", "rows", "last", "own", "high"]
    assert seen.schema == summed.output_schema(SCHEMA)
    for match, results in zip(plain.to_pylist(), seen.to_pylist(), strict=True):
        rows = [each for event in spec.automaton.events for each in _rows(match[event.name])]
        high = [row["value"] for row in _rows(match[name]) if row["z"]]
        assert results == {each: match[each] for each in ("start", "end", "key")} | {
            "rows": len(rows),
            "last": max(row["number"] for row in rows),
            "own": len(_rows(match[name])),
            "high": max(high, default=None),
        }


def _rows(event: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    return event if isinstance(event, list) else [event] if event else []


def test_the_schema_of_no_matches_is_that_of_matches() -> None:
    spec = detect(Then(A, plus(B)))

    assert found(spec, []).schema == found(spec, rows("a b")).schema == spec.output_schema(SCHEMA)
    assert spec.output_schema(SCHEMA).field("b").type == pa.list_(
        spec.output_schema(SCHEMA).field("a").type
    )

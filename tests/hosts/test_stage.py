"""A stage restores its state, or refuses it with a reason."""

import json
from collections import defaultdict
from dataclasses import replace

import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import Clock
from latecomer.errors import HeldLimitError, LateRowError, StateFormatError
from latecomer.hosts.local import MemoryChunks
from latecomer.hosts.stage import RunningStage
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.testing import TIME
from latecomer.testing.notation import as_batch, as_marks

PLAN = Plan(Source(TIME), OneClock((5,)), "divert", (Stage((), (Sort(TIME),)),))
TWICE = Plan(Source(TIME), OneClock((5,)), "divert", (Stage((), (Sort(TIME), Sort(TIME))),))
SCHEMA = as_batch(()).schema


def saved() -> tuple[MemoryChunks, bytes]:
    chunks = MemoryChunks()
    stage = RunningStage(PLAN, 0, SCHEMA, lambda _: chunks)
    list(stage.step(Clock(0, -5), [[as_batch((3, 1))]]))
    return chunks, stage.save()


def changed(state: bytes, **header: object) -> bytes:
    first, _, rest = state.partition(b"\n")
    return json.dumps(json.loads(first) | header).encode() + b"\n" + rest


def test_a_stage_continues_without_being_given_its_columns() -> None:
    chunks, state = saved()
    stage = RunningStage(PLAN, 0, None, lambda _: chunks, state)

    (output,) = stage.step(Clock(7, 2), [[]])
    assert as_marks(output.batch) == (1,)
    assert stage.due() == 3 + 5


def test_state_of_an_unknown_format_is_refused() -> None:
    chunks, state = saved()
    with pytest.raises(StateFormatError, match=r"format 99; .* reads format 4.*\nHint:"):
        RunningStage(PLAN, 0, SCHEMA, lambda _: chunks, changed(state, format=99))


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (b'{"format": 1, "query": {}, "sizes": []}\n', 1),
        (b"clocks\nARROW1", 1),
        (b'{"format": 2, "query": {}, "sizes": []}\n', 2),
    ],
)
def test_state_of_an_older_release_is_refused(written: bytes, number: int) -> None:
    with pytest.raises(
        StateFormatError, match=rf"in format {number}; .*\. Older versions .* 2,000 years"
    ):
        RunningStage(PLAN, 0, SCHEMA, lambda _: MemoryChunks(), written)


def test_state_of_another_query_is_refused() -> None:
    chunks, state = saved()
    with pytest.raises(
        StateFormatError, match=r"operators were sort\(.*\), are now sort\(.*\), sort\("
    ):
        RunningStage(TWICE, 0, SCHEMA, lambda _: chunks, state)


def test_a_clock_that_is_newly_shifted_is_refused() -> None:
    chunks, state = saved()
    shifted = replace(PLAN, source=replace(PLAN.source, before_1970=True))
    with pytest.raises(StateFormatError, match="before_1970 was False, is now True"):
        RunningStage(shifted, 0, SCHEMA, lambda _: chunks, state)


def test_state_of_another_key_is_refused() -> None:
    chunks, state = saved()
    keyed = replace(PLAN, stages=(Stage(("name",), (Sort(TIME),)),))
    with pytest.raises(StateFormatError, match="key was not set, is now name"):
        RunningStage(keyed, 0, SCHEMA, lambda _: chunks, state)


def test_state_of_another_wait_is_refused() -> None:
    """With another wait the watermark could fall, and buckets would disagree on what is late."""
    chunks, state = saved()
    with pytest.raises(StateFormatError, match="wait was 5 microseconds, is now 0 seconds"):
        RunningStage(replace(PLAN, clock=OneClock((0,))), 0, SCHEMA, lambda _: chunks, state)


def test_rows_with_other_columns_than_the_held_ones_are_refused() -> None:
    chunks, state = saved()
    wider = SCHEMA.append(pa.field("more", pa.int32()))
    with pytest.raises(StateFormatError, match=r'columns "time" int64.*"more" int32'):
        RunningStage(PLAN, 0, wider, lambda _: chunks, state)


def test_operators_of_one_stage_hand_on_their_rows_in_the_same_step() -> None:
    stage = RunningStage(TWICE, 0, SCHEMA, defaultdict(MemoryChunks).__getitem__)
    list(stage.step(Clock(0, -5), [[as_batch((3, 1, 2))]]))

    outputs = [*stage.step(Clock(7, 2), [[as_batch((2, 0))]])]
    assert [(output.name, output.rows) for output in outputs] == [("late", 1), ("ready", 3)]
    assert as_marks(outputs[1].batch) == (1, 2, 2)


def started(plan: Plan) -> RunningStage:
    chunks = MemoryChunks()
    return RunningStage(plan, 0, SCHEMA, lambda _: chunks)


def test_a_stage_that_holds_more_than_its_limit_is_stopped() -> None:
    stage = started(replace(PLAN, source=replace(PLAN.source, held_limit=2)))

    list(stage.step(Clock(0, -5), [[as_batch((3, 1))]]))
    assert stage.held == 2
    with pytest.raises(HeldLimitError, match=r"stage 0 holds 3 rows .* allows 2.\nHint: use more"):
        list(stage.step(Clock(3, -2), [[as_batch((4,))]]))


def test_rows_and_windows_that_are_held_are_counted_apart() -> None:
    summary = Summary((), (("n", agg.count()),))
    windows = Stage((), (Aggregation(TIME, Windows(10, 10), (0,), (summary,)),))
    rows, states = started(PLAN), started(replace(PLAN, stages=(windows,)))

    for stage in (rows, states):
        list(stage.step(Clock(0, -5), [[as_batch((3, 1, 12))]]))

    assert (rows.counted, states.counted) == ((3, 0), (0, 2))


def test_errors_show_rows_unless_they_are_redacted() -> None:
    shown = replace(PLAN, late="raise")
    hidden = replace(shown, source=replace(shown.source, redact=True))

    with pytest.raises(LateRowError, match="the first is"):
        list(started(shown).step(Clock(20, 15), [[as_batch((3,))]]))
    with pytest.raises(
        LateRowError, match=r"LateRowError in _refuse, line \d+; .* withheld"
    ) as caught:
        list(started(hidden).step(Clock(20, 15), [[as_batch((3,))]]))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__

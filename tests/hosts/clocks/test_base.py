"""What running clock policies have in common: here, the one that overrides least."""

from __future__ import annotations

import pytest

from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import Clock
from latecomer.hosts.clocks.base import RunningPolicy, Turn
from latecomer.hosts.clocks.one import One
from latecomer.hosts.output import READY, Output
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.testing import TIME
from latecomer.testing.notation import as_batch

PLAN = Plan(Source(TIME), OneClock((5,)), "divert", (Stage((), (Sort(TIME),)),))
POLICY = One(PLAN)
TURN = Turn(0, Clock(7, 2), [[]])


def test_what_comes_out_of_a_chain_comes_out_of_the_stage() -> None:
    output = Output(READY, 1, as_batch((3,)))

    assert POLICY.output(TURN, output) is output


def test_every_chain_is_asked_for_the_whole_plan() -> None:
    assert POLICY.plan_of(0) is PLAN


def test_there_is_nothing_to_report_to_forget_or_to_write_down() -> None:
    assert list(POLICY.after(Clock(7, 2), [[]])) == []
    assert [*POLICY.forgotten()] == []
    assert POLICY.save() == b""


def test_a_policy_must_say_which_chains_run() -> None:
    class Unfinished(RunningPolicy): ...

    with pytest.raises(TypeError, match="turns"):
        Unfinished(PLAN)  # type: ignore[abstract]

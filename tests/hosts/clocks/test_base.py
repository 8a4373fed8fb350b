"""The defaults of running clock policies, in a policy that overrides as little as possible."""

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


def test_the_output_of_a_chain_is_that_of_the_stage() -> None:
    output = Output(READY, 1, as_batch((3,)))

    assert POLICY.output(TURN, output) is output


def test_by_default_every_chain_runs_the_whole_plan() -> None:
    assert POLICY.plan_of(0) is PLAN


def test_by_default_a_policy_reports_forgets_and_saves_nothing() -> None:
    assert list(POLICY.after(Clock(7, 2), [[]])) == []
    assert [*POLICY.forgotten()] == []
    assert POLICY.save() == b""


def test_a_policy_must_say_which_chains_run() -> None:
    class Unfinished(RunningPolicy): ...

    with pytest.raises(TypeError, match="turns"):
        Unfinished(PLAN)  # type: ignore[abstract]

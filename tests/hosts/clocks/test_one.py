from __future__ import annotations

from types import SimpleNamespace

from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import Clock
from latecomer.hosts.clocks.one import One
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.testing import TIME
from latecomer.testing.notation import as_batch

PLAN = Plan(Source(TIME), OneClock((5,)), "divert", (Stage((), (Sort(TIME),)),))


def test_one_chain_gets_everything() -> None:
    clock, inputs, states = Clock(7, 2), [[as_batch((3,))]], [as_batch((1,))]

    (turn,) = One(PLAN).turns(clock, inputs, states)

    assert (turn.slot, turn.clock) == (0, clock)
    assert turn.inputs is inputs
    assert turn.states is states


def test_the_stage_is_due_when_its_chain_is() -> None:
    chain = SimpleNamespace(due=lambda: 8)

    assert One(PLAN).due({0: chain}) == 8  # type: ignore[dict-item]
    assert One(PLAN).due({}) is None

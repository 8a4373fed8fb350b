"""Every operator is in a plan that the simulator runs."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING, Any

import latecomer
from latecomer.clock.policy import ClockPolicy
from latecomer.operators.all_keys import for_all_keys
from latecomer.operators.base import Operator
from latecomer.operators.temporal.binary import Binary
from tests.chaos.catalogue import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from latecomer.plan import Plan


def operators_of(plan: Plan) -> Iterator[Any]:
    for each in plan.inputs:
        for stage in each.stages:
            if plan.clock.columns and stage.operators[0].clocked(plan.clock.columns):
                yield from for_all_keys(stage.operators, plan.clock.columns).operators
            for operator in stage.operators:
                yield operator
                yield from getattr(operator, "then", ())
                yield getattr(operator, "operator", None)


def test_every_operator_is_in_a_plan() -> None:
    for module in pkgutil.walk_packages(latecomer.__path__, "latecomer."):
        if module.name.startswith(("latecomer.operators", "latecomer.plan")):
            importlib.import_module(module.name)
    asked: list[type] = [Operator, Binary]
    for kind in asked:
        asked += [each for each in kind.__subclasses__() if each not in asked]
    # By name: a dataclass with slots is made of another class, which stays a subclass too.
    there = {
        kind.__name__
        for kind in asked
        if not inspect.isabstract(kind) and kind.__module__.startswith("latecomer.")
    }
    found = {type(each).__name__ for entry in catalogue() for each in operators_of(entry.plan)}

    missing = sorted(there - found)
    assert not missing, f"write a plan for {', '.join(missing)} in tests/chaos/catalogue.py"


def test_plans_have_names_of_their_own() -> None:
    names = [entry.name for entry in catalogue()]

    assert len(set(names)) == len(names)


def test_all_late_policies_clocks_and_kinds_of_queries_are_there() -> None:
    entries = catalogue()

    assert {entry.plan.late for entry in entries} == {"divert", "drop", "adjust", "raise"}
    # By name: a dataclass with slots is made of another class, which stays a subclass too.
    assert {type(entry.plan.clock).__name__ for entry in entries} == {
        kind.__name__ for kind in ClockPolicy.__subclasses__()
    }
    assert any(entry.plan.clock.sources for entry in entries)
    assert any(entry.plan.clock.promise for entry in entries)
    assert any(entry.plan.clock.within for entry in entries)
    assert any(entry.plan.idle for entry in entries)
    assert any(entry.plan.clock.horizon for entry in entries)
    assert any(entry.states == "driver" for entry in entries)
    assert any(entry.key for entry in entries)
    assert any(entry.plan.stages[0].join for entry in entries)
    assert any(len(entry.plan.stages) > 1 for entry in entries)

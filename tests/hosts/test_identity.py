from __future__ import annotations

import warnings
from dataclasses import replace

import pyarrow as pa
import pytest

from latecomer.clock.policy import OneClock
from latecomer.errors import IdentityWarning
from latecomer.hosts.identity import changes, identity, state_identity
from latecomer.labels import FORMAT
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.union import Union
from latecomer.plan import Plan, Source, Stage, placement
from tests.support.chains import TIME

PLAN = Plan(Source(TIME, ("key",)), OneClock((5,)), "divert", (Stage(("key",), (Sort(TIME),)),))
OLD, NEW = "f<3.10 code 0123456789abcdef>", "f<3.11 code 0000000000000000>"


def test_a_stage_is_identified_by_its_operators_its_key_and_its_clock() -> None:
    assert identity(PLAN, 0) == {
        "label format": FORMAT,
        "operators": ['Sort(by="time" in us)'],
        "time": ["time", "us"],
        "key": ["key"],
        "before_1970": False,
        "clock": "one clock",
        "wait": 5,
    }
    assert identity(PLAN, 0) == identity(replace(PLAN, late="drop"), 0)


def test_a_state_also_knows_the_waits_of_streams_that_meet_its_own() -> None:
    def met(wait: int) -> Plan:
        other = Plan(Source(TIME, number=1), OneClock((wait,)), "divert", (Stage((), ()),))
        return placement.meet(PLAN, Union(), other, pa.schema({"time": pa.int64()}))

    assert state_identity(PLAN, 0) == identity(PLAN, 0)
    (change,) = changes(state_identity(met(7), 0), state_identity(met(8), 0))
    assert change == ("waits of other streams", [7], [8])
    assert identity(met(7), 0) == identity(met(8), 0)


def test_what_has_changed_is_named_with_what_it_was() -> None:
    before = {"operators": ["Sort()"], "wait": 5, "key": ["a"]}
    now = {"operators": ["Sort()"], "wait": 6, "key": [], "new": 1}

    assert [*changes(before, now)] == [("wait", 5, 6), ("key", ["a"], [])]
    assert [*changes(before, before | {"new": 1})] == []
    assert [*changes(before, before | {"operators": []})] == [("operators", ["Sort()"], [])]


def test_a_function_that_cannot_be_compared_is_warned_of_and_goes_on() -> None:
    with pytest.warns(IdentityWarning, match="cannot check whether the functions of the query"):
        assert [*changes({"operators": ["Sort()", OLD]}, {"operators": ["Sort()", NEW]})] == []


def test_a_function_that_has_changed_is_refused_without_a_warning() -> None:
    other = OLD.replace("0123", "3210")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [*changes({"operators": [OLD, OLD]}, {"operators": [NEW, other]})]

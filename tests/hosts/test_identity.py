from __future__ import annotations

import warnings
from dataclasses import replace

import pytest

from latecomer.clock.policy import OneClock
from latecomer.errors import IdentityWarning
from latecomer.hosts.identity import changes, identity
from latecomer.labels import FORMAT
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from tests.support.chains import TIME

PLAN = Plan(Source(TIME, ("key",)), OneClock((5,)), "divert", (Stage(("key",), (Sort(TIME),)),))
OLD, NEW = "f<3.10 code 0123456789abcdef>", "f<3.11 code 0000000000000000>"


def test_a_stage_is_known_by_its_operators_its_key_and_its_clock() -> None:
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


def test_what_has_changed_is_named_with_what_it_was() -> None:
    before = {"operators": ["Sort()"], "wait": 5, "key": ["a"]}
    now = {"operators": ["Sort()"], "wait": 6, "key": [], "new": 1}

    assert [*changes(before, now)] == [("wait", 5, 6), ("key", ["a"], [])]
    assert [*changes(before, before | {"new": 1})] == []
    assert [*changes(before, before | {"operators": []})] == [("operators", ["Sort()"], [])]


def test_a_function_that_cannot_be_compared_is_warned_of_and_goes_on() -> None:
    with pytest.warns(IdentityWarning, match="cannot be known whether they are still the same"):
        assert [*changes({"operators": ["Sort()", OLD]}, {"operators": ["Sort()", NEW]})] == []


def test_a_function_that_has_changed_is_refused_without_a_warning() -> None:
    other = OLD.replace("0123", "3210")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [*changes({"operators": [OLD, OLD]}, {"operators": [NEW, other]})]

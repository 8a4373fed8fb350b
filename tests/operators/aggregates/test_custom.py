from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from latecomer.errors import OptionError
from latecomer.operators.aggregates.custom import UserAggregate
from tests.operators.aggregates.running import FLAG, VALUE, result, run, table


class Text(UserAggregate):
    """All values in one text."""

    state_type = result_type = pa.string()

    def __init__(self, column: str, mark: str = "-", where: str | None = None) -> None:
        super().__init__(column, where)
        self.mark = mark

    def zero(self) -> str:
        return ""

    def add(self, state: str, values: pa.Array) -> str:
        return state + "".join(value or self.mark for value in values.to_pylist())

    def merge(self, one: str, other: str) -> str:
        return one + other

    def finish(self, state: str) -> str:
        return f"<{state}>"


def test_values_are_given_in_order_of_time_with_their_nulls() -> None:
    rows = table(["c", None, "a"], pa.string(), times=[3, 2, 1])

    assert run(Text(VALUE).specification(), rows) == {0: "<a-c>"}


def test_states_are_merged_in_the_order_in_which_they_were_made() -> None:
    assert result(Text(VALUE).specification(), ["a", "b", "c"], pa.string(), (1, 2)) == "<abc>"


def test_a_group_without_rows_gives_the_zero() -> None:
    rows = table(["a", "b"], pa.string(), groups=[0, 1], flags=[False, True])

    assert run(Text(VALUE, where=FLAG).specification(), rows, [1]) == {0: "<>", 1: "<b>"}


def test_the_column_can_be_replaced() -> None:
    aggregate = replace(Text("price * 2").specification(), column=VALUE)

    assert result(aggregate, ["a"], pa.string()) == "<a>"


def test_parameters_are_shown_and_the_place_in_memory_is_not() -> None:
    shown = "Text(column='value', where=None, mark='?')"

    assert repr(Text(VALUE, "?")) == shown
    assert f"user={shown}" in repr(Text(VALUE, "?").specification())


def test_a_class_that_cannot_be_imported_survives_cloudpickle() -> None:
    class Local(Text):
        def finish(self, state: str) -> str:
            return state.upper()

    Local.__module__ = "__main__"

    sent = cloudpickle.dumps(Local(VALUE).specification())

    assert result(cloudpickle.loads(sent), ["a"], pa.string()) == "A"


@pytest.mark.parametrize("name", ["zero", "add", "merge", "finish"])
def test_a_missing_method_is_named_when_the_aggregate_is_made(name: str) -> None:
    body = {each: getattr(Text, each) for each in ("zero", "add", "merge", "finish")}
    del body[name]
    types = {"state_type": pa.string(), "result_type": pa.string()}
    incomplete = type("Incomplete", (UserAggregate,), body | types)

    with pytest.raises(OptionError, match=f"Incomplete lacks the method {name}.\nHint: "):
        incomplete(VALUE)


@pytest.mark.parametrize("name", ["state_type", "result_type"])
def test_a_missing_type_is_named_when_the_aggregate_is_made(name: str) -> None:
    class Untyped(Text):
        pass

    setattr(Untyped, name, float)

    with pytest.raises(OptionError, match=f"Untyped.{name} must be an Arrow type; it is <class"):
        Untyped(VALUE)


@pytest.mark.parametrize("method", ["zero", "add", "merge", "finish"])
def test_an_error_says_which_method_it_comes_from(method: str) -> None:
    def fail(*_: Any) -> None:  # noqa: ANN401
        raise ZeroDivisionError

    broken = type("Broken", (Text,), {method: fail})

    with pytest.raises(ZeroDivisionError) as caught:
        result(broken(VALUE).specification(), ["a", "b"], pa.string(), cuts=(1,))

    assert f"in Broken.{method}, which must return string" in caught.value.__notes__[0]


@pytest.mark.parametrize("method", ["add", "merge", "finish"])
def test_a_value_of_the_wrong_type_says_where_it_was_made(method: str) -> None:
    broken = type("Broken", (Text,), {method: lambda *_: 5})

    with pytest.raises(pa.ArrowTypeError) as caught:
        result(broken(VALUE).specification(), ["a", "b"], pa.string(), cuts=(1,))

    assert f"in Broken.{method}, which must return string" in caught.value.__notes__[0]

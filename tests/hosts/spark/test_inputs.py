from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from latecomer import agg
from latecomer.errors import ColumnNotFoundError, ColumnTypeError, OptionError
from latecomer.hosts.spark.inputs import (
    check_keys,
    check_values,
    declared,
    pivoted,
    pruned,
    value_name,
    with_conditions,
    with_inputs,
)
from latecomer.operators.aggregates.lists import TopK
from latecomer.operators.patterns.automaton import compiled
from latecomer.operators.patterns.shapes import Event, Then
from latecomer.plan import Source
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], "time long, kind string, price double, ok boolean")


def test_columns_are_declared_in_sql_or_as_a_struct(spark: SparkSession) -> None:
    struct = StructType([StructField("total", LongType())])

    assert declared("total long, ok boolean").names == ["total", "ok"]
    assert declared(struct).types == [pa.int64()]


@pytest.mark.parametrize("columns", ["total lon", "total", 5, None])
def test_columns_that_cannot_be_read_are_refused(spark: SparkSession, columns: object) -> None:
    with pytest.raises(ColumnTypeError, match="outputs must name columns and their types; got"):
        declared(columns)  # type: ignore[arg-type]


def test_no_columns_are_refused() -> None:
    with pytest.raises(ColumnTypeError, match="outputs name no column"):
        declared(StructType([]))


def test_each_expression_becomes_a_column_that_the_aggregate_names(df: DataFrame) -> None:
    asked = {
        "plain": agg.sum("price", where="ok"),
        "twice": agg.sum("2 * price", where="price > 0"),
        "n": agg.count(),
    }

    rows, computed = with_inputs(df, asked)

    assert computed["plain"] == asked["plain"]
    assert computed["twice"].columns == ("_lc_input_0", "_lc_input_1")
    assert computed["n"] == agg.count()
    assert rows.columns == [*df.columns, "_lc_input_0", "_lc_input_1"]
    assert computed["twice"].label == 'Sum(column="2 * price", where="price > 0")'
    assert computed["plain"].label == 'Sum(column="price", where="ok")'


def test_values_and_conditions_of_a_pivot_are_in_the_label(df: DataFrame) -> None:
    asked = {"s": agg.sum(F.col("price") * 2, where="price > 0"), "n": agg.count()}

    _, computed = with_inputs(*pivoted(df, "kind", ["a", None], asked))

    assert [each.label for each in computed.values()] == [
        """Sum(column="*(price, 2)", where="kind <=> 'a' AND price > 0")""",
        """Count(where="kind <=> 'a'")""",
        """Sum(column="*(price, 2)", where="kind <=> None AND price > 0")""",
        """Count(where="kind <=> None")""",
    ]


def test_a_list_of_the_best_is_named_after_what_it_is_made_of(df: DataFrame) -> None:
    _, computed = with_inputs(df, {"best": agg.top_k("kind", 3, by=F.col("price"))})

    best = computed["best"]
    assert isinstance(best, TopK)
    assert best.texts == (("by", "price"),)


def test_a_filter_that_is_no_condition_is_refused(df: DataFrame) -> None:
    with pytest.raises(ColumnTypeError, match='the filter of "n" is of type double; it must be'):
        with_inputs(df, {"n": agg.count(where="price + 1")})


def test_each_condition_of_a_pattern_becomes_a_column(df: DataFrame) -> None:
    shape = Then(Event("up", "price > 1"), Event("any"), unless="ok")

    rows, automaton = with_conditions(df, compiled(shape))

    assert [event.condition for event in automaton.events] == ["_lc_input_0", None]
    assert automaton.guards == ("_lc_input_1",)
    assert rows.columns[-2:] == ["_lc_input_0", "_lc_input_1"]
    with pytest.raises(ColumnTypeError, match='the condition of event "up" is of type double'):
        with_conditions(df, compiled(Event("up", "price")))


def test_a_pivot_makes_an_aggregate_for_each_value(df: DataFrame) -> None:
    rows, made = pivoted(df, "kind", ["a", None], {"n": agg.count()})
    _, two = pivoted(df, "kind", ["a"], {"n": agg.count(), "s": agg.sum("price", where="ok")})

    assert list(made) == ["a", "null"]
    assert made["a"].where == "_lc_pivot_0"
    assert rows.columns[-2:] == ["_lc_pivot_0", "_lc_pivot_1"]
    assert list(two) == ["a_n", "a_s"]


def test_a_column_is_named_after_a_value_as_spark_does() -> None:
    assert [value_name(value) for value in (None, True, 5, 1.5, "x")] == [
        *("null", "true", "5", "1.5", "x"),
    ]


def test_values_that_a_column_cannot_have_are_refused(df: DataFrame) -> None:
    check_values(df, "kind", ["a", None])
    check_values(df, "price", [1, 2.5])

    with pytest.raises(ColumnTypeError, match="and the value 5 of type int"):
        check_values(df, "kind", [5])
    with pytest.raises(OptionError, match='pivot lists the value "a" of "kind" twice'):
        check_values(df, "kind", ["a", "a"])


def test_a_key_must_be_there(df: DataFrame) -> None:
    with pytest.raises(ColumnNotFoundError, match='no column "city"'):
        check_keys(df, ["kind", "city"])


def test_only_columns_that_are_read_go_to_python(df: DataFrame) -> None:
    found = pruned(df, Source(TimeColumn("time")), ["price", "time"])

    assert found.columns == ["time", "price"]


def test_an_expression_with_a_collation_is_refused(df: DataFrame) -> None:
    with pytest.raises(ColumnTypeError, match=r"^collate\(kind, 'UTF8_LCASE'\) has strings of"):
        with_inputs(df, {"most": agg.max("collate(kind, 'UTF8_LCASE')")})

"""Columns with odd names, and null structs, pass unchanged through every stream on Spark."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

import latecomer as lc
from latecomer import agg
from latecomer.hosts.local import LocalHost
from latecomer.hosts.spark.columns import arrow_schema
from tests.support.batches import random_batches
from tests.support.streaming import stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

KEY, NUMBER = "the.key", "tick`ed"
STRICT = StructType([StructField("a", LongType(), nullable=False)])
SCHEMA = StructType(
    [
        StructField("at.time", TimestampType()),
        StructField(KEY, StringType()),
        StructField(NUMBER, LongType(), nullable=False),
        StructField("struct", STRICT),
        StructField("list", ArrayType(STRICT)),
        StructField("map", MapType(StringType(), STRICT)),
        StructField("deep", StructType([StructField("in", STRICT, nullable=False)])),
    ]
)
CARRIED = SCHEMA.names[3:]
VALUES = [
    (None, None, None, None),
    ((1,), [None, (2,)], {"x": None, "y": (3,)}, ((4,),)),
    (None, [], {}, None),
    ((5,), [(6,), None], {"z": None}, ((7,),)),
]


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    rows = [
        (datetime.fromtimestamp(second, UTC), "ab"[second % 2], second, *VALUES[second])
        for second in (1, 0, 3, 2)
    ]
    return spark.createDataFrame(rows, SCHEMA).coalesce(1)


def events(df: DataFrame, **options: Any) -> lc.DisorderedStream:  # noqa: ANN401
    return lc.disordered(df, time="at.time", key=KEY, **options)


def renamed(df: DataFrame) -> DataFrame:
    return df.toDF("at.time", KEY, *(f"other.{name}" for name in df.columns[2:]))


ROWS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "several waits": lambda df: events(df).sort(wait=["0 s", "9 s"]).to_df(wait="9 s"),
    "late rows moved": lambda df: events(df).sort(wait="9 s", late="adjust").to_df(),
    "a union": lambda df: (
        events(df)
        .sort(wait="1 s")
        .until_next(KEY)
        .union(events(df.where("false")).sort(wait="1 s"))
        .to_df()
    ),
    "pairs": lambda df: (
        events(df).sort(wait="9 s").left_join(events(renamed(df)).sort(wait="1 s"), on=KEY).to_df()
    ),
    "a barrier": lambda df: events(df).optimistic(wait="9 s").barrier().to_df(),
}


@pytest.mark.parametrize("name", ROWS)
def test_columns_come_out_as_they_came(df: DataFrame, name: str) -> None:
    rows = ROWS[name](df).collect()

    found = {row[NUMBER]: tuple(row[each] for each in CARRIED) for row in rows}
    assert found == {row[NUMBER]: tuple(row[each] for each in CARRIED) for row in df.collect()}
    if name == "pairs":
        others = {row[f"other.{NUMBER}"]: row["other.list"] for row in rows}
        assert others == {row[NUMBER]: row["list"] for row in df.collect()}


_ONE = "struct(coalesce(n, 0L) AS a)"
STRICTLY = {
    # Spark's file source makes every column nullable; this makes them strict again.
    "struct": f"if(n % 3 = 0, null, {_ONE})",
    "list": f"array(if(n % 2 = 0, null, {_ONE}), {_ONE})",
    "deep": f"if(n % 5 = 0, null, struct({_ONE} AS `in`))",
}
STREAMS: dict[str, Callable[[lc.DisorderedStream], Any]] = {
    "rows, after several waits": lambda rows: rows.sort(wait=["0 seconds", "5 seconds"]),
    "windows that collect them": lambda rows: (
        rows.tumbling("10 seconds")
        .wait("5 seconds")
        .group_by("key")
        .aggregate(lists=agg.collect("list"), first=agg.first("deep"), last=agg.last("struct"))
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams_carry_strict_columns_as_the_local_host_does(
    spark: SparkSession, name: str
) -> None:
    made: list[Any] = []

    def build(df: DataFrame) -> Any:  # noqa: ANN401
        made.append(STREAMS[name](lc.disordered(strictly(df), time="time", key="key")))
        return made[0]

    batches = [each.rename_columns({"id": "n"}) for each in random_batches(5)[:4]]
    ready, late = stream(spark, batches, build)

    (asked,) = made
    schema = arrow_schema(asked.df)
    host = LocalHost(asked.plan, schema)
    assert not asked.df.schema["struct"].dataType["a"].nullable
    for number, batch in enumerate([*batches, batches[0].slice(0, 0)]):
        step = host.step(pa.Table.from_pylist(list(map(with_strict, batch.to_pylist())), schema))
        assert counted(ready[number]) == counted(step.ready.to_pylist())
        assert counted(late[number]) == counted(step.late.to_pylist())


def strictly(df: DataFrame) -> DataFrame:
    return df.withColumns({name: F.expr(text) for name, text in STRICTLY.items()})


def with_strict(row: dict[str, Any]) -> dict[str, Any]:
    """Add the columns of `STRICTLY`: PySpark's toArrow refuses null structs with strict fields."""
    n, one = row["n"], {"a": row["n"]}
    made = {"struct": one if n % 3 else None, "list": [one if n % 2 else None, one]}
    return {**row, **made, "deep": {"in": one} if n % 5 else None}


def plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict | tuple):
        return tuple(map(plain, value.values() if isinstance(value, dict) else value))
    if isinstance(value, list):
        return list(map(plain, value))
    return value.timestamp() if isinstance(value, datetime) else value


def counted(rows: Any) -> Counter[str]:  # noqa: ANN401
    return Counter(str(plain(row)) for row in rows)


def test_a_window_join_carries_them(df: DataFrame) -> None:
    streams = {"left": events(df), "right": events(df)}

    rows = lc.window_join(streams, within="0 seconds", on=KEY, wait="9 s").to_df().collect()

    assert {row[f"left_{NUMBER}"]: row["right_map"] for row in rows} == {
        row[NUMBER]: row["map"] for row in df.collect()
    }


def test_windows_collect_them(df: DataFrame) -> None:
    windows = events(df).tumbling("1 minute").wait("9 s").group_by(KEY)
    answers = windows.aggregate(
        lists=agg.collect("list"), first=agg.first("deep"), total=agg.sum(NUMBER)
    )

    rows = {row[KEY]: row for row in answers.to_df().collect()}

    values = {row[NUMBER]: row for row in df.collect()}
    assert {key: row.total for key, row in rows.items()} == {"a": 2, "b": 4}
    assert rows["a"].lists == [values[2]["list"]]
    assert rows["b"].lists == [values[1]["list"], values[3]["list"]]
    assert rows["b"].first == values[1]["deep"]


def test_patterns_and_pivots_take_odd_names(df: DataFrame) -> None:
    pattern = lc.event("low", "`tick``ed` < 2").then("high", "`tick``ed` >= 2")
    matches = events(df).sort(wait="9 s").detect(pattern, within="1 minute").to_df().collect()
    pivots = events(df).tumbling("1 minute").wait("9 s", late="drop").group_by()
    columns = pivots.pivot(KEY, ["a", "b"]).aggregate(n=agg.sum(NUMBER)).to_df().collect()

    assert {(m.low[NUMBER], m.high[NUMBER]) for m in matches} == {(0, 2), (1, 3)}
    assert [(row.a, row.b) for row in columns] == [(2, 4)]


def test_begins_and_ends_have_odd_names(df: DataFrame) -> None:
    edges = df.selectExpr("`at.time`", "CAST(NULL AS TIMESTAMP) AS `the``end`", "struct")

    rows = lc.disordered(edges, time="at.time", end="the`end", edges=True).sort(wait="1 s")

    with pytest.raises(lc.ColumnTypeError, match=r'"struct" is of type .* compared by plain'):
        rows.temporal()
    rows = lc.disordered(edges.drop("struct"), time="at.time", end="the`end", edges=True).sort(
        wait="1 s"
    )
    assert [row.end for row in rows.alter(duration=None).to_df().collect()] == [None] * 4


def test_profiles_and_injected_disorder_take_odd_names(df: DataFrame) -> None:
    shown = df.select("`at.time`", f"`{KEY}`", "`tick``ed`")
    late = lc.inject_disorder(shown, time="at.time", fraction=0, delay="constant:1s")

    profile = lc.profile(late, time="at.time", arrival="arrival", key=KEY)

    assert profile.rows == 4
    assert late.columns == [*shown.columns, "arrival"]

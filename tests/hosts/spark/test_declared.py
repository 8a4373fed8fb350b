"""Streams whose columns are declared, so that Spark is not asked for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructType, TimestampType

import latecomer as lc
from latecomer.hosts.spark.declared import DeclaredFrame, declared, is_declared, read_schema
from latecomer.runtime.java import find_java, launcher_home
from tests.support.short_lived import JAVA_OPTIONS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "time timestamp, shop string, price double"
PROJECT = Path(__file__).parents[3] / "examples/pipeline"


class Unasked:
    """A DataFrame that may not be analyzed, as in the function of a pipeline."""

    def __init__(self, df: DataFrame) -> None:
        self._df = df

    @property
    def sparkSession(self) -> SparkSession:  # noqa: N802 - Spark's name
        return self._df.sparkSession

    def __getattr__(self, name: str) -> object:
        if name in ("schema", "columns", "isStreaming", "dtypes", "collect", "toArrow"):
            raise AssertionError(f"{name} is asked for")
        found = getattr(self._df, name)
        if not callable(found):
            return found

        def called(*arguments: object, **options: object) -> object:
            given = [each._df if isinstance(each, Unasked) else each for each in arguments]
            answer = found(*given, **options)
            return Unasked(answer) if hasattr(answer, "schema") else answer

        return called


@pytest.fixture(scope="module")
def orders(spark: SparkSession) -> DataFrame:
    rows = [("09:20", "Lyon", 2.0), ("09:00", "Oslo", 1.0), ("09:10", "Lyon", None)]
    df = spark.createDataFrame(rows, "time string, shop string, price double")
    return df.selectExpr("timestamp('2024-05-01 ' || time) AS time", "shop", "price")


def stream(df: DataFrame) -> lc.DisorderedStream:
    return lc.disordered(
        Unasked(df), time="time", key="shop", schema=COLUMNS, streaming=False, ahead=None
    )


def rows(df: object) -> list[tuple[object, ...]]:
    return [tuple(row) for row in getattr(df, "_df", df).collect()]


def test_rows_are_sorted_without_a_question(orders: DataFrame) -> None:
    asked = stream(orders).where("price IS NOT NULL").select("time", "shop").sort(wait="1 hour")

    # Rows of different keys have no order.
    assert [shop for _, shop in sorted(rows(asked.to_df()))] == ["Oslo", "Lyon"]
    assert rows(asked.late_df()) == []


def test_windows_are_counted_without_a_question(orders: DataFrame) -> None:
    windows = stream(orders).tumbling("1 hour").wait(["1 minute", "1 hour"]).group_by("shop")
    counts = windows.aggregate(
        n=lc.agg.count(), dear=lc.agg.count(where="price > 1.5"), sum=lc.agg.sum("price")
    )

    found = rows(counts.to_df(wait="1 hour").select("shop", "n", "dear", "sum"))

    assert sorted(found) == [("Lyon", 2, 1, 2.0), ("Oslo", 1, 0, 1.0)]


def test_patterns_promises_and_pivots_need_no_question(orders: DataFrame) -> None:
    pattern = lc.event("a", "price = 1").then(lc.event("b", "price = 2"))
    asked = lc.disordered(
        Unasked(orders),
        time="time",
        promise="price > 0",
        schema=COLUMNS,
        streaming=False,
        ahead=None,
    )
    pivoted = asked.tumbling("1 hour").wait("1 hour").group_by().pivot("shop", ["Lyon", "Oslo"])

    assert len(rows(asked.sort(wait="0 seconds").detect(pattern.within("1 hour")).to_df())) == 1
    assert [row[1:] for row in rows(pivoted.aggregate(n=lc.agg.count()).to_df())] == [(2, 1)]


def test_all_outputs_are_in_one_dataframe_from_which_they_are_unpacked(orders: DataFrame) -> None:
    asked = stream(orders).sort(wait="1 hour")

    packed = asked.packed_df()

    found = rows(asked.to_df(packed=packed))
    assert [row[2] for row in found if row[1] == "Oslo"] == [1.0]
    assert [row[2] for row in found if row[1] == "Lyon"] == [None, 2.0]
    assert rows(asked.late_df(packed=packed)) == []


def test_what_only_spark_knows_is_refused(orders: DataFrame) -> None:
    for step in (
        lambda: stream(orders).with_columns(double="price * 2"),
        lambda: stream(orders).select("time", "shop", "price * 2 AS double"),
        lambda: stream(orders).select_many(letter="split(shop, '')"),
        lambda: stream(orders).tumbling("1 h").wait("1 h").aggregate(n=lc.agg.sum("price * 2")),
    ):
        with pytest.raises(lc.OptionError, match=r"Hint: compute it before disordered\(\)"):
            step()
    with pytest.raises(lc.ColumnNotFoundError, match='no column "prise"; schema= declares "time"'):
        stream(orders).select("time", "shop", "prise")
    counts = stream(orders).tumbling("1 hour").wait("1 hour").aggregate(n=lc.agg.count())
    with pytest.raises(lc.OptionError, match=r'Hint: select the columns .* "window.start"'):
        counts.formatted(windows="columns")


@pytest.mark.parametrize("given", [{"schema": COLUMNS}, {"streaming": True}])
def test_a_dataframe_is_declared_whole(orders: DataFrame, given: dict[str, object]) -> None:
    with pytest.raises(lc.OptionError, match="schema= and streaming= must be given together"):
        lc.disordered(orders, time="time", **given)


def test_only_what_is_declared_is_wrapped(orders: DataFrame) -> None:
    assert declared(orders, None, None) is orders
    assert is_declared(declared(orders, COLUMNS, streaming=True))
    assert not is_declared(orders)


def test_computed_columns_have_the_type_that_is_given(orders: DataFrame) -> None:
    frame = DeclaredFrame(orders, orders.schema, isStreaming=False)

    assert frame.typed({"n": F.lit(1), "shop": F.lit(2)}, IntegerType()).schema.simpleString() == (
        "struct<time:timestamp,shop:int,price:double,n:int>"
    )


def test_columns_of_plain_types_are_read() -> None:
    text = "a bigint, `b c` decimal(10, 2),d TIMESTAMP_NTZ , e: int, f boolean"

    assert read_schema(text).simpleString() == (
        "struct<a:bigint,b c:decimal(10,2),d:timestamp_ntz,e:int,f:boolean>"
    )


@pytest.mark.parametrize("text", ["", "a", "a int,", "a array<int>", "a nothing", "a int b int"])
def test_other_columns_are_refused(text: str) -> None:
    with pytest.raises(lc.ColumnTypeError, match="for nested types give a StructType"):
        read_schema(text)


def test_nested_types_are_given_as_a_type(orders: DataFrame) -> None:
    nested = StructType().add("time", TimestampType()).add("words", ArrayType(StringType()))

    assert declared(orders, nested, streaming=True).schema == nested


def test_the_page_about_pipelines_has_the_code_of_the_example() -> None:
    page = (PROJECT.parents[1] / "docs/pipelines.md").read_text()
    _, code, _ = page.split("```\n", 2)

    assert code in (PROJECT / "transformations/orders.py").read_text()


@pytest.mark.jvm
def test_a_declarative_pipeline_has_ready_and_late_rows_as_two_tables(tmp_path: Path) -> None:
    shutil.copytree(PROJECT, tmp_path / "project")
    spec = tmp_path / "project/spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("/tmp/orders-pipeline", f"{tmp_path}/storage"))  # noqa: S108
    (tmp_path / "orders").mkdir()
    for number, minutes in enumerate([(0, 20), (15, 40), (5, 50)]):
        path = tmp_path / f"orders/{number}.json"
        path.write_text("".join(map(order, minutes)))
        os.utime(path, (number + 1, number + 1))
    variables = {
        **os.environ,
        "ORDERS": f"{tmp_path}/orders",
        "JAVA_HOME": str(launcher_home(find_java())),
        "PYSPARK_PYTHON": sys.executable,
        "JDK_JAVA_OPTIONS": JAVA_OPTIONS,
        # As in tests/support/cluster_job.py: a free port instead of 15002, which may be in use.
        "SPARK_TESTING": "1",
    }

    done = subprocess.run(
        [Path(sys.executable).with_name("spark-pipelines"), "run", "--spec", str(spec)],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        timeout=1_800,
        check=False,
    )

    assert done.returncode == 0, (done.stdout + done.stderr)[-5_000:]
    ready, late = (table(tmp_path, name) for name in ("ready", "late"))
    assert [row["time"].minute for row in ready] == [0, 15, 20, 40]
    assert [(row["time"].minute, row["_reason"]) for row in late] == [(5, "late")]


def order(minute: int) -> str:
    return f'{{"time": "2024-05-01T09:{minute:02}:00Z", "shop": "Lyon", "price": 1.0}}\n'


def table(directory: Path, name: str) -> list[dict[str, object]]:
    (found,) = directory.rglob(f"spark-warehouse/{name}")
    return sorted(pq.read_table(found).to_pylist(), key=lambda row: row["time"])

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import latecomer as lc
from latecomer.errors import OptionError
from tests.support.upserts import KEY, REFINED, refined


@pytest.fixture
def parquet(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    name = "table_without_commits"
    spark.sql(f"CREATE TABLE {name} (id bigint) USING parquet LOCATION '{tmp_path}/files'")
    yield name
    spark.sql(f"DROP TABLE {name}")


def test_a_table_that_cannot_be_written_exactly_once_is_refused(
    spark: SparkSession, parquet: str
) -> None:
    spark.range(1).createOrReplaceTempView("view_of_rows")

    lines = {
        "nowhere": r"there is no table nowhere\.\nHint: create it first",
        "no_catalog.db.sales": r"there is no table no_catalog\.db\.sales",
        parquet: r"is stored as parquet, which cannot distinguish .*\nHint: create it USING delta",
        "view_of_rows": "is a view, which cannot distinguish",
    }
    for name, line in lines.items():
        with pytest.raises(OptionError, match=line):
            lc.table(name).check(spark)


@pytest.fixture(params=["delta", "iceberg"])
def made_in(request: pytest.FixtureRequest, lake: SparkSession) -> tuple[str, str]:
    """The format of a table, and the prefix of its name."""
    return request.param, {"delta": "", "iceberg": "ice.db."}[request.param]


def test_a_table_has_the_rows_of_each_micro_batch_once(
    made_in: tuple[str, str], lake: SparkSession
) -> None:
    kind, prefix = made_in
    name = f"{prefix}sales_once"
    # Spark also calls the format of a table its Provider.
    lake.sql(f"CREATE TABLE {name} (id bigint, Provider string) USING {kind}")
    sales = lc.table(name)
    sales.check(lake)

    for number in (0, 1, 1, 2147483647, 2147483647):
        rows = lake.range(number, number + 1).selectExpr("'a' AS Provider", "id")
        sales.write(rows, number, "writer")

    assert sorted(row.id for row in lake.table(name).collect()) == [0, 1, 2147483647]


def test_current_rows_are_merged_into_a_table(made_in: tuple[str, str], lake: SparkSession) -> None:
    kind, prefix = made_in
    name = f"{prefix}current_counts"
    lake.sql(f"CREATE TABLE {name} ({REFINED}) USING {kind}")
    keep = lc.upsert(table=name, key=KEY)

    first = refined(lake, (0, "EWR", 1, 5), (0, None, 2, 5), (0, "EWR", 3, 60))
    second = refined(lake, (0, "EWR", 9, 5), (0, None, 4, 60), (1, "JFK", 7, 5))
    for number, rows in enumerate((first, second)):
        keep(rows, number)
        keep(rows, number)

    counts = {
        (row.window.start.minute, row.origin): row["count"] for row in lake.table(name).collect()
    }
    assert counts == {(0, "EWR"): 3, (0, None): 4, (1, "JFK"): 7}

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import StructType

from latecomer.errors import ColumnNotFoundError, ColumnTypeError, OptionError
from latecomer.hosts.spark.upsert import merge as upsert_merge
from latecomer.hosts.spark.upsert.sink import upsert
from tests.support.upserts import KEY, REFINED, refined

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_merge_compares_keys_null_safe_and_never_goes_back_to_a_shorter_wait() -> None:
    assert upsert_merge.statement("lake.db.counts", ["window", "a`{b"], levels=("s.w", "t.w")) == (
        "MERGE INTO lake.db.counts AS t USING {batch} AS s "
        "ON t.`window` <=> s.`window` AND t.`a``{{b` <=> s.`a``{{b` "
        "WHEN MATCHED AND s.w >= t.w THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert "WHEN MATCHED THEN UPDATE SET *" in upsert_merge.statement("t", ["k"])


def test_a_table_needs_the_columns_of_the_rows(spark: SparkSession) -> None:
    rows = refined(spark, (0, "EWR", 5, 1))
    check = upsert_merge.check_columns

    check(rows, rows.schema, "counts")
    with pytest.raises(ColumnTypeError, match=r'"wait" of table counts is of type double.*\nHint'):
        check(rows, StructType.fromDDL(REFINED.replace("wait string", "wait double")), "counts")
    with pytest.raises(ColumnNotFoundError, match=r'counts has no column "window"; it has "a"'):
        check(rows, StructType.fromDDL("a int"), "counts")


def test_a_table_without_merge_or_no_table_says_what_to_do(spark: SparkSession) -> None:
    rows = refined(spark, (0, "EWR", 5, 1))
    rows.createOrReplaceTempView("counts_without_merge")

    with pytest.raises(OptionError, match=r"does not support MERGE.*\nHint: .* USING delta"):
        upsert(table="counts_without_merge", key=KEY)(rows, 0)
    with pytest.raises(OptionError, match=r"there is no table nowhere\.\nHint: create it"):
        upsert(table="nowhere", key=KEY)(rows, 0)


def test_rows_of_a_changelog_that_go_are_deleted_by_a_merge() -> None:
    assert upsert_merge.statement("t", ["k"], deletes=True) == (
        "MERGE INTO t AS t USING {batch} AS s ON t.`k` <=> s.`k` "
        "WHEN MATCHED AND s._change_type = 'delete' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED AND s._change_type = 'insert' THEN INSERT *"
    )

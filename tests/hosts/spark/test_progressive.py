"""The drawing of units; for results see tests/api/test_progressive.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.batch import decode
from latecomer.errors import ChangedTableError, ColumnNotFoundError, ColumnTypeError, OptionError
from latecomer.hosts.spark import progressive
from latecomer.hosts.spark.progressive import CHEAP_STEPS, STEPS, chosen_steps, narrowed, with_units
from latecomer.operators.aggregates.summary import ROWS, Summary
from latecomer.operators.estimates.estimation import Estimation
from latecomer.operators.estimates.spread import UNIT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema({"x": pa.int64(), UNIT: pa.int64()})
COUNTING = Estimation(Summary((), (("n", agg.count()),)), SCHEMA, 0.95)


def test_rows_that_are_equal_in_what_tells_them_apart_are_one_unit(spark: SparkSession) -> None:
    df = spark.sql("SELECT id AS x, id % 3 AS third FROM range(30)")

    units = with_units(df, ["third"], 7).select(UNIT, "third").distinct().collect()

    assert len(units) == len({row[UNIT] for row in units}) == 3


def test_a_unit_that_does_not_identify_rows_is_refused(spark: SparkSession) -> None:
    df = spark.createDataFrame([], "x long, m map<string, int>, deep struct<m: map<string, int>>")

    assert with_units(df, ["x"], 0).columns[-1] == UNIT
    with pytest.raises(ColumnNotFoundError, match='no column "id" to identify rows by'):
        with_units(df, ["id"], 0)
    for by in (["m"], ["deep"], []):
        with pytest.raises(ColumnTypeError, match="which cannot identify rows"):
            with_units(df, by, 0)
    with pytest.raises(OptionError, match="this DataFrame is a stream"):
        with_units(spark.readStream.format("rate").load(), [], 0)


def test_only_what_is_read_and_the_unit_go_to_python(spark: SparkSession) -> None:
    df = with_units(spark.sql("SELECT 1L AS x, 2L AS y, 3L AS z"), [], 0)

    assert narrowed(df, ["y", "x", "y"]).columns == ["y", "x", UNIT]


def test_there_is_a_step_between_only_where_a_row_costs_more_than_its_hash() -> None:
    median = Estimation(Summary((), (("m", agg.quantile("x", 0.5)),)), SCHEMA, 0.95)

    assert chosen_steps(COUNTING, is_computed=False) == CHEAP_STEPS
    assert chosen_steps(COUNTING, is_computed=True) == STEPS
    assert chosen_steps(median, is_computed=False) == STEPS


def test_a_worker_adds_up_its_rows_and_mixes_their_hashes() -> None:
    batches = [
        pa.RecordBatch.from_pydict({"x": [1, 2], UNIT: [5, 6]}),
        pa.RecordBatch.from_pydict({"x": [3], UNIT: [9]}),
    ]

    for is_last in (False, True):
        (found,) = progressive._added(COUNTING, is_last, iter(batches))
        (row,) = found.to_pylist()
        assert row["_lc_mixed"] == 5 ^ 6 ^ 9
        assert decode(row["states"])[ROWS].to_pylist() == [3]
    assert list(progressive._added(COUNTING, True, iter([]))) == []  # noqa: FBT003


@pytest.mark.parametrize("whole", [(4, 7), (3, 8)])
def test_a_table_that_changes_between_passes_is_refused(whole: tuple[int, int]) -> None:
    progressive._check_all_came((3, 7), (3, 7))

    with pytest.raises(
        ChangedTableError, match="changed between two reads: all steps together read 3 rows"
    ):
        progressive._check_all_came((3, 7), whole)

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import latecomer as lc
from latecomer.errors import MissingPackageError
from tests.support import lakes


@pytest.mark.skipif(lakes.missing() is None, reason="Delta is here")
def test_without_delta_a_query_is_refused_with_the_name_of_its_package(
    spark: SparkSession,
) -> None:
    with pytest.raises(MissingPackageError, match=r"io\.delta:delta-spark_4\.\d_2\.13"):
        lc.delta("sales").check(spark)


def test_a_micro_batch_that_is_run_again_is_skipped_and_that_of_another_writer_is_not(
    lake: SparkSession, tmp_path: Path
) -> None:
    sales = lc.delta(tmp_path / "sales")
    sales.check(lake)

    for number, writer in ((0, "one"), (3, "one"), (3, "one"), (0, "one"), (3, "other")):
        sales.write(lake.range(number, number + 1), number, writer)

    rows = lake.read.format("delta").load(f"{tmp_path}/sales").collect()
    assert sorted(row.id for row in rows) == [0, 3, 3]
    sales.check(lake)

from pyspark.sql import SparkSession

from latecomer.hosts.spark.tables import iceberg


def test_a_micro_batch_that_is_run_again_is_skipped_also_after_commits_of_others(
    lake: SparkSession,
) -> None:
    lake.sql("CREATE TABLE ice.db.appended (id bigint, `name` string) USING iceberg")
    rows = lake.range(1).selectExpr("'b' AS name", "id")

    for number, writer in ((0, "one"), (3, "one"), (3, "other"), (3, "one"), (0, "one")):
        iceberg.append(rows, number, writer, "ice.db.appended")

    written = lake.table("ice.db.appended.snapshots").orderBy("committed_at").collect()
    properties = [(row.summary[iceberg.WRITER], row.summary[iceberg.BATCH]) for row in written]
    assert properties == [("one", "0"), ("one", "3"), ("other", "3")]
    # Columns are matched by name.
    assert [tuple(row) for row in lake.table("ice.db.appended").collect()] == [(0, "b")] * 3

"""Options that a recall excludes are refused when the stream is built, with the reason."""

import pytest
from pyspark.sql import DataFrame, SparkSession

import latecomer as lc


@pytest.fixture
def df(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT timestamp_seconds(1) AS time, 'a' AS key, 'b' AS part, 7 AS count")


def events(df: DataFrame, **options: str) -> lc.DisorderedStream:
    return lc.disordered(df, time="time", key="key", **options)


@pytest.mark.parametrize("recall", [0, -0.5, 1.01, 99, "0.99", True, float("nan"), [0.9, 99]])
def test_a_recall_that_is_not_a_share(df: DataFrame, recall: object) -> None:
    with pytest.raises(lc.OptionError, match=r"recall must be above 0 and at most 1; got .*\n"):
        events(df).sort(recall=recall)  # type: ignore[arg-type]


@pytest.mark.parametrize("recall", [[0.99, 0.9], [0.9, 0.9], []])
def test_recalls_that_do_not_grow(df: DataFrame, recall: list[float]) -> None:
    with pytest.raises(
        lc.OptionError, match=r"several recalls must be in ascending order; got .*\nHint"
    ):
        events(df).sort(recall=recall)


def test_a_wait_and_a_recall(df: DataFrame) -> None:
    with pytest.raises(lc.OptionError, match=r"wait='1 s' and recall=0.9 cannot be combined"):
        events(df).sort(wait="1 s", recall=0.9)


def test_a_recall_of_rows_in_order(df: DataFrame) -> None:
    with pytest.raises(lc.OptionError, match="presorted=True cannot be combined with a wait"):
        events(df).sort(recall=0.9, presorted=True)


def test_a_recall_and_clocks(df: DataFrame) -> None:
    with pytest.raises(lc.OptionError, match=r'a clock for each "key", because the recall'):
        events(df, clock="key").sort(recall=0.9)


def test_only_changes(df: DataFrame) -> None:
    with pytest.raises(lc.OptionError, match="only_changes=True needs"):
        events(df).tumbling("1 hour").wait(recall=[0.5, 0.9], only_changes=True)


def test_another_key_behind(df: DataFrame) -> None:
    ordered = events(df).sort(recall=0.9)
    with pytest.raises(lc.OptionError, match=r'grouping by "part" needs another shuffle.*\nHint'):
        ordered.distinct("count", within="1 s").temporal().group_by("part").aggregate(
            n=lc.agg.count()
        )


def test_streams_that_meet(df: DataFrame) -> None:
    one, other = (
        events(df).sort(**options).alter(duration="1 hour")
        for options in ({"recall": 0.9}, {"wait": "1 s"})
    )
    for left, right in ((one, other), (other, one)):
        with pytest.raises(lc.OptionError, match=r"cannot be combined with another stream"):
            left.join(right, on="key")


def test_several_recalls_have_no_lifetimes(df: DataFrame) -> None:
    with pytest.raises(lc.OptionError, match="lifetimes are not available"):
        events(df).sort(recall=[0.5, 0.9]).temporal()
    with pytest.raises(lc.OptionError, match="distinct does not support several waits"):
        events(df).sort(recall=[0.5, 0.9]).distinct(within="1 s")


def test_states_on_the_driver(df: DataFrame) -> None:
    counted = events(df).tumbling("1 hour").wait(recall=0.9).group_by().aggregate(n=lc.agg.count())
    with pytest.raises(
        lc.OptionError,
        match="each bucket chooses its wait is not one",
    ):
        counted.start({"ready": "out"}, checkpoint="checkpoint", states="driver")


def test_a_recall_that_is_not_there(df: DataFrame) -> None:
    ordered = events(df).sort(recall=[0.5, 0.9])
    with pytest.raises(
        lc.OptionError, match=r"0.8 is not one of several recalls of the stream; it has 0.5, 0.9"
    ):
        ordered.to_df(recall=0.8)
    with pytest.raises(lc.OptionError, match=r"a recall and no waits.\nHint"):
        ordered.to_df(wait="1 s")
    with pytest.raises(
        lc.OptionError, match=r"0.9 is not one of several recalls of the stream; it has none"
    ):
        events(df).sort(wait="1 s").to_df(recall=0.9)
    with pytest.raises(lc.OptionError, match=r"only one wait or recall"):
        events(df).sort(recall=0.9).temporal().to_df(recall=0.9)


def test_a_column_with_the_name_of_one_that_identifies_recalls(df: DataFrame) -> None:
    renamed = df.withColumnRenamed("count", "wait")
    with pytest.raises(lc.ColumnNameError, match=r'have a column "wait".*\nHint'):
        lc.disordered(renamed, time="time").sort(recall=[0.5, 0.9])
    windows = events(df).tumbling("1 hour").wait(recall=[0.5, 0.9]).group_by()
    with pytest.raises(lc.ColumnNameError, match=r'have a column "recall"'):
        windows.aggregate(recall=lc.agg.count())


def test_a_recall_that_is_not_measured_is_no_output(df: DataFrame, spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    ordered = lc.disordered(stream, time="timestamp").sort(wait="1 s")
    with pytest.raises(lc.OptionError, match="outputs are named ready and late; got recall"):
        ordered.start({"recall": "out", "late": "late"}, checkpoint="checkpoint")

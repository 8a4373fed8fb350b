"""Each kind of bad input gets an error that names the column, the value and the remedy."""

from datetime import timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession

import latecomer as lc


@pytest.fixture
def df(spark: SparkSession) -> DataFrame:
    return spark.sql(
        "SELECT timestamp_seconds(1) AS time, 'a' AS key, '12:00' AS clock, 7 AS count, "
        "array(1) AS list, struct(1 AS x) AS pair"
    )


def test_an_unknown_time_column(df: DataFrame) -> None:
    with pytest.raises(
        lc.ColumnNotFoundError, match=r'no column "traded_at"; the stream has "time"'
    ):
        lc.disordered(df, time="traded_at")


def test_an_unknown_key_column(df: DataFrame) -> None:
    with pytest.raises(lc.ColumnNotFoundError, match=r'no column "device".*\n.*key="\.\.\."'):
        lc.disordered(df, time="time", key=["key", "device"])


def test_an_unknown_arrival_column(df: DataFrame) -> None:
    with pytest.raises(lc.ColumnNotFoundError, match='no column "came"'):
        lc.disordered(df, time="time", arrival="came")


def test_a_time_column_of_text(df: DataFrame) -> None:
    with pytest.raises(lc.ColumnTypeError, match=r'"clock" is of type string.*\n.*to_timestamp'):
        lc.disordered(df, time="clock")


def test_an_integer_time_column_without_a_unit(df: DataFrame) -> None:
    with pytest.raises(lc.ColumnTypeError, match=r'"count" is of type int.*\n.*unit='):
        lc.disordered(df, time="count")


def test_an_unknown_unit(df: DataFrame) -> None:
    with pytest.raises(lc.OptionError, match=r"unknown unit 'minutes'"):
        lc.disordered(df, time="count", unit="minutes")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["list", "pair"])
def test_a_nested_key(df: DataFrame, name: str) -> None:
    with pytest.raises(lc.ColumnTypeError, match=f'key column "{name}" is of type'):
        lc.disordered(df, time="time", key=name)


@pytest.mark.parametrize("name", ["_delay", "_Behind", "_REASON", "_lc_now", "_LC_now"])
def test_a_column_named_like_one_of_ours(df: DataFrame, name: str) -> None:
    with pytest.raises(lc.ColumnNameError, match=f'a column "{name}"'):
        lc.disordered(df.withColumnRenamed("key", name), time="time")


def test_two_columns_of_one_name(df: DataFrame) -> None:
    with pytest.raises(lc.ColumnNameError, match='two columns named "key"'):
        lc.disordered(df.select("time", "key", "key"), time="time")
    with pytest.raises(lc.ColumnNameError, match='two columns named "key": "key", "KEY"'):
        lc.disordered(df.selectExpr("time", "key", "key AS KEY"), time="time")


@pytest.mark.parametrize("name", ["wait", "Is_Final"])
def test_a_column_with_the_name_of_one_that_identifies_waits(df: DataFrame, name: str) -> None:
    named = lc.disordered(df.withColumnRenamed("key", name), time="time", key=name)

    assert named.sort(wait="1 s").plan.source.key == (name,)
    with pytest.raises(
        lc.ColumnNameError, match=f'have a column "{name.lower()}", which Latecomer adds'
    ):
        named.sort(wait=["1 s", "2 s"])


def test_a_select_that_loses_the_time(df: DataFrame) -> None:
    with pytest.raises(lc.ColumnNotFoundError, match=r'no column "time"; the stream has "key"'):
        lc.disordered(df, time="time").select("key")


def test_a_missing_wait(df: DataFrame) -> None:
    with pytest.raises(lc.DurationError, match=r'how long to wait.*\n.*wait="10 minutes"'):
        lc.disordered(df, time="time").sort()


@pytest.mark.parametrize("wait", ["-5 seconds", timedelta(seconds=-5)])
def test_a_negative_wait(df: DataFrame, wait: str | timedelta) -> None:
    with pytest.raises(lc.DurationError, match="wait cannot be negative"):
        lc.disordered(df, time="time").sort(wait=wait)


@pytest.mark.parametrize("wait", ["soon", "5", "", "3 months", "5 minutes and a bit"])
def test_a_wait_that_cannot_be_read(df: DataFrame, wait: str) -> None:
    with pytest.raises(lc.DurationError, match=r"cannot read wait=.*\nHint:"):
        lc.disordered(df, time="time").sort(wait=wait)


def test_a_wait_that_is_no_duration(df: DataFrame) -> None:
    with pytest.raises(lc.DurationError, match="wait must be a duration; got 5"):
        lc.disordered(df, time="time").sort(wait=5)  # type: ignore[arg-type]


def test_an_unknown_way_with_late_rows(df: DataFrame) -> None:
    with pytest.raises(lc.OptionError, match=r"late cannot be 'ignore'.*\n.*divert, drop"):
        lc.disordered(df, time="time").sort(wait="1 second", late="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize("buckets", [0, -1, 1_000_000])
def test_an_impossible_number_of_buckets(df: DataFrame, buckets: int) -> None:
    with pytest.raises(lc.OptionError, match="buckets must be from 1"):
        lc.disordered(df, time="time").sort(wait="1 second", buckets=buckets)


def test_starting_a_query_on_a_batch(df: DataFrame) -> None:
    with pytest.raises(lc.OptionError, match=r"not streaming.*\n.*to_df"):
        lc.disordered(df, time="time").sort(wait="1 second").start({"ready": "x"}, checkpoint="y")


@pytest.mark.parametrize("outputs", [{}, {"early": "x"}])
def test_unknown_outputs(spark: SparkSession, outputs: dict[str, str]) -> None:
    stream = spark.readStream.format("rate").load()
    ordered = lc.disordered(stream, time="timestamp").sort(wait="1 second")
    with pytest.raises(lc.OptionError, match="outputs are named ready and late"):
        ordered.start(outputs, checkpoint="y")


def test_a_state_store_that_cannot_work(spark: SparkSession) -> None:
    setting = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(setting)
    ordered = lc.disordered(spark.readStream.format("rate").load(), time="timestamp").sort(
        wait="1 second"
    )
    spark.conf.unset(setting)
    try:
        with pytest.raises(lc.StateStoreError, match=r"HDFSBacked.*\n.*RocksDBStateStoreProvider"):
            ordered.to_df()
    finally:
        spark.conf.set(setting, before)


def test_a_stream_that_has_a_watermark_already(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    with pytest.raises(lc.OptionError, match=r'watermark on column "timestamp".*\n.*withWatermark'):
        lc.disordered(stream, time="timestamp")


def test_buckets_without_a_key(df: DataFrame) -> None:
    with pytest.raises(lc.OptionError, match="this stream has no key"):
        lc.disordered(df, time="time").sort(wait="1 second", buckets=4)


def test_a_time_without_a_zone_cannot_be_ahead_of_the_wall_clock(df: DataFrame) -> None:
    local = df.selectExpr("cast(time AS timestamp_ntz) AS time")
    with pytest.raises(lc.OptionError, match=r'"time" with the wall clock.*\n.*arrival'):
        lc.disordered(local, time="time", ahead="1 hour")


def test_a_column_named_like_the_directories_of_an_output(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().withColumnRenamed("value", "Batch")
    ordered = lc.disordered(stream, time="timestamp").sort(wait="1 second")
    with pytest.raises(lc.ColumnNameError, match='a column "batch"'):
        ordered.start({"ready": "x", "late": "z"}, checkpoint="y")


def hourly(df: DataFrame) -> lc.OrderedStream:
    return lc.disordered(df, time="time").tumbling("1 hour").wait("1 minute")


def test_aggregates_without_windows(df: DataFrame) -> None:
    ordered = lc.disordered(df, time="time").sort(wait="1 minute")
    with pytest.raises(lc.OptionError, match=r"this stream has none.*\n.*tumbling"):
        ordered.group_by("key").aggregate(n=lc.agg.count())


def test_nothing_to_aggregate(df: DataFrame) -> None:
    with pytest.raises(lc.OptionError, match="nothing to compute"):
        hourly(df).group_by("key").aggregate()


def test_an_unknown_column_to_group_by(df: DataFrame) -> None:
    with pytest.raises(lc.ColumnNotFoundError, match=r'no column "shop".*\n.*group_by'):
        hourly(df).group_by("shop").aggregate(n=lc.agg.count())


def test_a_column_that_cannot_be_aggregated(df: DataFrame) -> None:
    with pytest.raises(lc.ColumnTypeError, match=r"sum needs numbers or durations.*\n.*cast"):
        hourly(df).group_by().aggregate(total=lc.agg.sum("key"))


def test_a_filter_that_is_no_condition(df: DataFrame) -> None:
    with pytest.raises(lc.ColumnTypeError, match='the filter of "n" is of type int'):
        hourly(df).group_by().aggregate(n=lc.agg.count(where="count + 1"))


@pytest.mark.parametrize("name", ["window", "wait", "is_final", "key", "_lc_pane"])
def test_a_result_named_like_something_else(df: DataFrame, name: str) -> None:
    with pytest.raises(lc.ColumnNameError, match=f'named "{name}"'):
        hourly(df).group_by("key").aggregate(**{name: lc.agg.count()})


@pytest.mark.parametrize("waits", [["1 hour", "1 minute"], ["1 hour", "60 minutes"]])
def test_waits_that_do_not_grow(df: DataFrame, waits: list[str]) -> None:
    with pytest.raises(
        lc.DurationError, match="several waits must be in ascending order; got 1 hour"
    ):
        lc.disordered(df, time="time").sort(wait=waits)


def test_no_waits(df: DataFrame) -> None:
    with pytest.raises(lc.DurationError, match="how long to wait"):
        lc.disordered(df, time="time").sort(wait=[])


def test_windows_with_gaps_between_them(df: DataFrame) -> None:
    with pytest.raises(lc.OptionError, match="got size 1 hour and hop 2 hours"):
        lc.disordered(df, time="time").hopping("1 hour", "2 hours")


def test_rows_that_count_for_no_time(df: DataFrame) -> None:
    with pytest.raises(lc.OptionError, match="a lifetime must be longer than 0"):
        lc.disordered(df, time="time").lifetime("0 seconds")


def test_results_grouped_by_a_column_that_they_lack(df: DataFrame) -> None:
    counts = hourly(df).group_by("key").aggregate(n=lc.agg.count())
    with pytest.raises(lc.OptionError, match='grouped by "key" cannot be grouped by "clock"'):
        counts.group_by("clock").aggregate(n=lc.agg.sum("n"))


def test_results_that_are_not_there(df: DataFrame) -> None:
    counts = hourly(df).group_by("key").aggregate(n=lc.agg.count())
    with pytest.raises(lc.ColumnNotFoundError, match="no result 'm' to aggregate"):
        counts.group_by().aggregate(n=lc.agg.sum("m"))


def test_a_pair_of_queries_that_do_not_aggregate(df: DataFrame) -> None:
    with pytest.raises(lc.OptionError, match="merge must aggregate"):
        hourly(df).apply(
            partial=lambda rows: rows.group_by("key").aggregate(n=lc.agg.count()),
            merge=lambda parts: parts,
        )
    with pytest.raises(lc.OptionError, match="partial must aggregate the rows"):
        hourly(df).apply(
            partial=lambda rows: (
                rows.group_by("key")
                .aggregate(n=lc.agg.count())
                .group_by()
                .aggregate(n=lc.agg.sum("n"))
            ),
            merge=lambda parts: parts,
        )


def test_windows_without_an_aggregate(df: DataFrame) -> None:
    with pytest.raises(lc.StepError, match=r"no to_df: its windows are not.*\n.*aggregate"):
        hourly(df).to_df()  # type: ignore[attr-defined]
    with pytest.raises(lc.StepError, match="no late_df: its windows are not aggregated"):
        hourly(df).late_df()  # type: ignore[attr-defined]


def test_steps_that_come_too_early(df: DataFrame) -> None:
    events = lc.disordered(df, time="time")
    with pytest.raises(lc.StepError, match=r"Stream has no to_df.\nHint: put the rows in"):
        events.to_df()  # type: ignore[attr-defined]
    with pytest.raises(lc.StepError, match=r"Windows has no group_by.\nHint: say how long"):
        events.tumbling("1 hour").group_by("key")  # type: ignore[attr-defined]


def test_only_changes_where_nothing_can_change(df: DataFrame) -> None:
    events = lc.disordered(df, time="time")
    for stream, wait in (
        (events.tumbling("1 hour"), ["1 s"]),
        (events.lifetime("1 hour"), ["1 s", "2 s"]),
    ):
        with pytest.raises(lc.OptionError, match="windows with several waits"):
            stream.wait(wait, only_changes=True)

"""The arguments that `window_join` refuses, and its errors."""

import math
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import latecomer as lc
from latecomer.errors import (
    ColumnNameError,
    ColumnNotFoundError,
    ColumnTypeError,
    ConditionError,
    DurationError,
    OptionError,
    OrderError,
)
from latecomer.time import Unit

Streams = dict[str, lc.DisorderedStream]


@pytest.fixture(scope="module")
def streams(spark: SparkSession) -> Streams:
    df = spark.createDataFrame([], "time timestamp, symbol string, price double, size int")
    return {name: lc.disordered(df, time="time") for name in ("bid", "ask", "trade")}


def joined(streams: Streams, **options: Any) -> lc.JoinedStream:  # noqa: ANN401 - whatever it takes
    return lc.window_join(streams, **({"within": "5 seconds"} | options))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"within": "-1 seconds"}, DurationError, "cannot be negative"),
        ({"within": {"bid": "1 second"}}, OptionError, "the window of each stream"),
        ({"within": {"bid": "1 s", "ask": "-2 s", "trade": "1 s"}}, DurationError, "of ask"),
        ({"on": "symbl"}, ColumnNotFoundError, 'no column "symbl"'),
        ({"on": {"bid": "symbol"}}, OptionError, "a column of each stream"),
        ({"on": [("bid.symbol", "offer.symbol")]}, OptionError, "the streams are bid, ask, trade"),
        ({"on": [("bid.symbol", "bid.price")]}, OptionError, "of one stream"),
        ({"on": [("bid.symbol", "ask.price")]}, ColumnTypeError, "of type string"),
        ({"on": [("bid.symbol", "ask.symbol", "trade.symbol")]}, OptionError, "or pairs of them"),
        ({"on": 5}, OptionError, "or pairs of them; got 5"),
        ({"recall": 1.2}, OptionError, "must be from 0 to 1; got 1.2"),
        ({"recall": "99 %"}, OptionError, "must be from 0 to 1"),
        ({"recall": 0.9, "wait": "1 second"}, OptionError, "cannot be combined"),
        ({"wait": "-1 second"}, DurationError, "cannot be negative"),
        ({"wait": 5}, DurationError, "wait must be a duration"),
        (
            {"period": "1 second", "interval": "2 seconds"},
            OptionError,
            "not longer than the period",
        ),
        ({"granularity": "0 seconds"}, OptionError, "granularity"),
        ({"buckets": 0}, OptionError, "from 1 to 65,536; got 0"),
        ({"buckets": 70_000}, OptionError, "from 1 to 65,536"),
        ({"feedback": "some"}, OptionError, "calibrated, paper, none"),
        ({"where": "bid.price > ask.price"}, OptionError, "where must be a function"),
        ({"where": lambda bid, ask: bid.price > ask.price}, ConditionError, "bid, ask, trade"),
    ],
)
def test_bad_input_is_named_with_a_remedy(
    streams: Streams, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        joined(streams, **options)


def test_a_condition_that_does_not_compile_is_shown_with_its_line(streams: Streams) -> None:
    def is_fair(bid: Any, ask: Any, trade: Any) -> bool:  # noqa: ANN401 - rows of any columns
        middle = (bid.price + ask.price) / 2
        return trade.symbol == "A" and trade.price > middle

    with pytest.raises(ConditionError) as caught:
        joined(streams, where=is_fair)

    message = str(caught.value)
    assert "Unknown attribute 'symbol'" in message
    assert 'return trade.symbol == "A" and trade.price > middle' in message
    assert "test_window_join_arguments.py, line" in message
    assert "bid.price" in message
    assert "Hint:" in message


def test_a_condition_may_not_import(streams: Streams) -> None:
    def is_even(bid: Any, _ask: Any, _trade: Any) -> bool:  # noqa: ANN401 - rows of any columns
        import math as mathematics

        return mathematics.floor(bid.price) == 2

    with pytest.raises(ConditionError, match="import math as mathematics"):
        joined(streams, where=is_even)


def test_a_condition_may_use_math(streams: Streams) -> None:
    def is_near(bid: Any, ask: Any, trade: Any) -> bool:  # noqa: ANN401 - rows of any columns
        return math.hypot(bid.price - ask.price, bid.size - trade.size) < 5

    near = joined(streams, where=is_near)
    assert [plan.stages[0].everywhere for plan in near.plan.inputs] == [False, True, True]
    assert near.buckets == 2


def test_two_streams_are_the_least(streams: Streams) -> None:
    with pytest.raises(OptionError, match="two streams or more"):
        joined({"bid": streams["bid"]})
    with pytest.raises(OptionError, match="two streams or more"):
        joined(list(streams.values()))  # type: ignore[arg-type]


def test_streams_must_be_disordered_ones(streams: Streams) -> None:
    bid, ask = streams["bid"], streams["ask"]
    with pytest.raises(OrderError, match='"bid" is sorted already'):
        joined({"bid": bid.sort(wait="1 second"), "ask": ask})  # type: ignore[dict-item]
    with pytest.raises(OptionError, match="not a disordered stream"):
        joined({"bid": bid.df, "ask": ask})  # type: ignore[dict-item]
    with pytest.raises(OptionError, match=r"not a disordered stream.*\nHint: .*without windows"):
        joined({"bid": bid.tumbling("1 second"), "ask": ask})  # type: ignore[dict-item]
    clocked = lc.disordered(bid.df, time="time", key="symbol", clock="key")
    with pytest.raises(OptionError, match="does not support end="):
        joined({"bid": clocked, "ask": ask})


def test_streaming_and_static_frames_do_not_meet(spark: SparkSession, streams: Streams) -> None:
    rate = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "time")

    with pytest.raises(OptionError, match="others are not: bid"):
        joined({"bid": streams["bid"], "rate": lc.disordered(rate, time="time")})


def test_times_with_and_without_a_zone_do_not_meet(spark: SparkSession, streams: Streams) -> None:
    df = spark.createDataFrame([], "time timestamp_ntz")

    with pytest.raises(ColumnTypeError, match="timestamp_ntz"):
        joined({"bid": streams["bid"], "ask": lc.disordered(df, time="time")})


@pytest.mark.parametrize(
    ("kind", "unit"), [("date", None), ("bigint", "s"), ("bigint", "us"), ("timestamp_ntz", None)]
)
def test_times_of_different_types_do_not_meet(
    spark: SparkSession, streams: Streams, kind: str, unit: Unit | None
) -> None:
    # The time of a result would be rounded up to the next day or second, and no row would have it.
    df = spark.createDataFrame([], f"time {kind}")

    with pytest.raises(ColumnTypeError, match=r"must be of one type; got ask .*, bid timestamp"):
        joined({"ask": lc.disordered(df, time="time", unit=unit), "bid": streams["bid"]})


@pytest.mark.parametrize("name", ["the.bid", 7, "_lc"])
def test_a_stream_has_a_name_that_can_stand_before_its_columns(streams: Streams, name: str) -> None:
    with pytest.raises(OptionError, match="a stream cannot be named"):
        joined({name: streams["bid"], "ask": streams["ask"]}, on="symbol")


def test_columns_of_a_result_have_different_names(spark: SparkSession, streams: Streams) -> None:
    df = streams["bid"].df.select("time", F.col("price").alias("b_price"))
    other = lc.disordered(df, time="time")

    with pytest.raises(ColumnNameError, match="a_b_price"):
        joined({"a": other, "a_b": streams["ask"]})


def test_defaults_go_with_the_windows(streams: Streams) -> None:
    def quality(**options: Any) -> tuple[int, int, int]:  # noqa: ANN401 - whatever it takes
        gathering = joined(streams, **options).plan.stages[0].join
        assert gathering is not None
        asked = gathering.operator.quality
        return asked.period, asked.interval, asked.granularity

    assert quality() == (60_000_000, 1_000_000, 10_000)
    assert quality(within="50 seconds") == (600_000_000, 10_000_000, 100_000)
    assert quality(within="0 seconds") == (60_000_000, 1_000_000, 10_000)
    assert quality(period="10 seconds")[:2] == (10_000_000, 166_666)


def test_pairs_of_equal_names_are_one_key(streams: Streams) -> None:
    chained = joined(streams, on=[("bid.symbol", "ask.symbol"), ("ask.symbol", "trade.symbol")])
    star = joined(streams, on=[("bid.symbol", "ask.symbol"), ("bid.size", "trade.size")])
    both = joined(streams, on=["symbol", "size"])

    assert [stream.plan.stages[0].key for stream in (chained, star, both)] == [
        ("symbol",),
        ("time", "symbol", "price", "size"),
        ("symbol", "size"),
    ]
    assert star.plan.inputs[1].stages[0].everywhere


def test_a_join_explains_itself(streams: Streams) -> None:
    by_key = joined(streams, on="symbol", recall=0.95).explain()
    by_condition = joined(
        streams, wait="max", where=lambda bid, ask, _trade: bid.price > ask.price
    ).explain()

    assert "stage 1, by the common key" in by_key
    assert "a recall of 0.95 takes, chosen every 1 second" in by_key
    assert "bid is spread over the buckets, every bucket has all other rows" in by_condition
    assert "the longest delay so far" in by_condition
    assert "<lambda>" in by_condition
    assert "in the order in which Spark reads them; nothing is sorted" in by_condition
    assert "wait 20 seconds" in joined(streams, wait="20 seconds").explain()

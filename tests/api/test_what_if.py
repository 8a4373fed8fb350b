"""`lc.what_if` tries a user's own query, in the form that runs on Spark."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import latecomer as lc

SECONDS = [0, 5, 61, 3, 130, 62]


def rows() -> pa.Table:
    times = pa.array(SECONDS, pa.timestamp("s", "UTC")).cast(pa.timestamp("us", "UTC"))
    return pa.table({"time": times, "ad": list("abaaab"), "price": [1, 2, 3, 4, 5, 6]})


def spent(df: DataFrame, **wait: Any) -> lc.AggregatedStream:  # noqa: ANN401 - wait or recall
    windows = lc.disordered(df, time="time").tumbling("1 minute").wait(**wait)
    return windows.group_by("ad").aggregate(total=lc.agg.sum("price * 2"), n=lc.agg.count())


def test_what_if_needs_waits_or_recalls() -> None:
    with pytest.raises(lc.OptionError, match="no wait or recall to try"):
        lc.what_if(rows(), spent)


def test_what_if_needs_rows() -> None:
    with pytest.raises(lc.OptionError, match="needs a Spark DataFrame, an Arrow table or a path"):
        lc.what_if([1, 2], spent, waits=["0s"])  # type: ignore[arg-type]


def test_what_if_tries_a_users_own_query(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(rows(), path)
    frame = spark.createDataFrame(rows()).coalesce(1)

    answers = [
        lc.what_if(given, spent, waits=["0 seconds", "2 minutes"], recalls=[0.9], every=1)
        for given in (frame, rows(), path)
    ]

    assert answers[0].to_dict() == answers[1].to_dict() == answers[2].to_dict()
    trials = answers[0].trials
    assert list(trials) == ["0 seconds", "2 minutes", "recall 0.9"]
    assert (trials["0 seconds"].late, trials["0 seconds"].missing) == (2, 1)
    # The price of the late row at 3 s is 4, and the query doubles it.
    assert trials["0 seconds"].errors["total"].largest == 8
    assert trials["2 minutes"].wrong == 0

    # Sorted rows, and the operators after the sort.
    ordered = lc.what_if(
        rows(), lambda df, **wait: lc.disordered(df, time="time").sort(**wait), waits=["0s"]
    )
    assert ordered.trials["0 seconds"].wrong == 2

    for query, words in [
        (lambda df, **_: spent(df, wait="1 second"), "does not use it"),
        (lambda df, **wait: spent(df, **wait).to_df(), "must return a stream"),
        (
            lambda df, **wait: lc.disordered(df, time="time").sort(**wait, late="adjust"),
            "supports queries of one stream",
        ),
    ]:
        with pytest.raises(lc.OptionError, match=words):
            lc.what_if(rows(), query, waits=["0 seconds"])
    with pytest.raises(lc.OptionError, match="is a stream"):
        lc.what_if(spark.readStream.format("rate").load(), spent, waits=["0s"])

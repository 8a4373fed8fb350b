from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands import latecomer

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_disorder_writes_a_file_and_reports(tmp_path: Path) -> None:
    times = pa.array(range(2_000), pa.timestamp("s", "UTC"))
    pq.write_table(pa.table({"at": times}), tmp_path / "in.parquet")
    options = ["--time", "at", "--fraction", "0.3", "--delay", "uniform:1s:60s", "--seed", "7"]

    answer = latecomer("disorder", f"{tmp_path}/in.parquet", f"{tmp_path}/out.csv", *options)
    as_json = latecomer(
        "disorder", f"{tmp_path}/in.parquet", f"{tmp_path}/out.parquet", *options, "--json"
    )

    assert answer.stdout.startswith("2,000 rows, 30.0")
    assert json.loads(as_json.stdout)["fraction"] == pytest.approx(0.3, abs=0.002)
    written = pq.read_table(tmp_path / "out.parquet")
    assert written.column_names == ["at", "arrival"]
    assert (tmp_path / "out.csv").read_text().count("\n") == 2_001


def test_disorder_takes_patterns(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "at": pa.array(range(2_000), pa.timestamp("s", "UTC")),
            "device": [f"d{i % 10}" for i in range(2_000)],
        }
    )
    pq.write_table(rows, tmp_path / "in.parquet")

    answer = latecomer(
        *("disorder", f"{tmp_path}/in.parquet", f"{tmp_path}/out.parquet"),
        *("--time", "at", "--fraction", "0.3", "--delay", "constant:30s"),
        *(
            "--drift",
            "1h:2",
            "--outage",
            "10min:2min:device=d3",
            "--outage",
            "20min:2min:device:0.2",
        ),
        *("--override", "device=d4@0.5:uniform:1h:2h", "--override", "device=d5:constant:1min"),
    )

    assert answer.returncode == 0, answer.stderr
    out = pq.read_table(tmp_path / "out.parquet").to_pandas()
    delays = (out["arrival"] - out["at"]).dt.total_seconds().groupby(out["device"]).max()
    assert 3_600 <= delays["d4"] <= 14_400
    assert delays["d3"] >= 100


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--drift", "1h"], "cannot read --drift '1h'.\nHint: write PERIOD:FACTOR"),
        (["--outage", "1h"], "cannot read --outage '1h'.\nHint: write AT:LASTS"),
        (["--override", "d4:constant:1s"], "cannot read --override 'd4:constant:1s'"),
        (["--fraction", "3"], "fraction must be from 0 to 1; got 3.0"),
        (["--delay", "sometimes"], "unknown distribution 'sometimes'"),
        (["--time", "when"], 'no column "when"; the rows have "at"'),
    ],
)
def test_disorder_refuses_what_it_cannot_read(
    tmp_path: Path, option: list[str], message: str
) -> None:
    pq.write_table(pa.table({"at": pa.array([1], pa.timestamp("s"))}), tmp_path / "in.parquet")
    options = ["--time", "at", "--fraction", "0", "--delay", "constant:1s", *option]

    answer = latecomer("disorder", f"{tmp_path}/in.parquet", f"{tmp_path}/out.csv", *options)

    assert (answer.returncode, answer.stdout) == (1, "")
    assert f"latecomer: {message}" in answer.stderr


def test_disorder_says_why_the_fraction_was_missed(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("at\n2020-01-01 00:00:00\n2020-01-01 01:00:00\n")

    answer = latecomer(
        *("disorder", f"{tmp_path}/in.csv", f"{tmp_path}/out.csv"),
        *("--time", "at", "--fraction", "0.5", "--delay", "constant:1s"),
    )

    assert answer.returncode == 0
    assert "there are only 2 rows" in " ".join(answer.stderr.split())


def test_disorder_from_csv_to_csv_leaves_other_columns_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("at,zip,note\n2020-01-01 00:00:00,00017,NA\n")

    latecomer(
        *("disorder", f"{tmp_path}/in.csv", f"{tmp_path}/out.csv"),
        *("--time", "at", "--fraction", "0", "--delay", "constant:1s"),
    )

    assert '"00017","NA"' in (tmp_path / "out.csv").read_text()


def test_disorder_on_spark_gives_what_it_gives_without(spark: SparkSession, tmp_path: Path) -> None:
    times = pa.array(range(2_000), pa.timestamp("s", "UTC"))
    pq.write_table(pa.table({"at": times}), tmp_path / "in.parquet")
    options = ["--time", "at", "--fraction", "0.3", "--delay", "uniform:1s:60s"]

    for target, *more in ([f"{tmp_path}/a.parquet"], [f"{tmp_path}/b.parquet", "--spark"]):
        answer = latecomer("disorder", f"{tmp_path}/in.parquet", target, *options, *more)
        assert answer.returncode == 0, answer.stderr

    # The command requires this form; other tests write times in any form.
    spark.conf.unset("spark.sql.parquet.outputTimestampType")
    arrivals = [pq.read_table(tmp_path / name)["arrival"] for name in ("a.parquet", "b.parquet")]
    assert arrivals[0].equals(arrivals[1])


def test_targets_are_checked_before_any_work(tmp_path: Path) -> None:
    options = ["--time", "at", "--fraction", "0", "--delay", "constant:1s"]

    wrong = latecomer("disorder", "nowhere.csv", f"{tmp_path}/out.txt", *options)
    taken = latecomer("disorder", "nowhere.csv", f"{tmp_path}", *options, "--spark")

    (tmp_path / "in.csv").write_text("at\n1\n")
    same = latecomer("disorder", f"{tmp_path}/in.csv", f"{tmp_path}/x/../in.csv", *options)
    inside = latecomer("disorder", f"{tmp_path}", f"{tmp_path}/out.csv", *options)
    nowhere = latecomer("disorder", f"{tmp_path}/in.csv", f"{tmp_path}/mistyped/out.csv", *options)

    assert "would be written over what is read" in same.stderr
    assert "would be written over what is read" in inside.stderr
    assert "there is no directory" in nowhere.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
    assert "Hint: name a file .parquet or .csv." in wrong.stderr
    assert "has to be a new directory" in taken.stderr

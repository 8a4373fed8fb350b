"""`latecomer profile` answers in words, as JSON, and with a report."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from typer.testing import CliRunner

from latecomer.cli import app
from latecomer.errors import LatecomerError
from tests.support.commands import latecomer

COMMITS = Path(__file__).parents[2] / ".." / "shared" / "data" / "git-commits.parquet"


def profile(*arguments: object) -> str:
    """Run the command in this process, and pass on its errors."""
    answer = CliRunner().invoke(app, ["profile", *map(str, arguments)], catch_exceptions=True)
    if answer.exception is not None and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def rows(*seconds: int | None) -> pa.Table:
    times = pa.array(seconds, pa.timestamp("s"))
    return pa.table({"at": times, "device": [f"d{n}" for n in range(len(seconds))]})


@pytest.fixture
def trades(tmp_path: Path) -> Path:
    path = tmp_path / "trades.parquet"
    pq.write_table(rows(0, 100, 90, 200, None), path)
    return path


def test_it_answers_in_words_first(trades: Path) -> None:
    answer = latecomer("profile", trades, "--time", "at")

    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.split("\n")[:9] == [
        "5 rows, 4 of them with a time, 25 % of those out of order, in at most 2 interleaved runs",
        "Order of arrival: the order of the rows in the file.",
        "Left out: 1 row without a time.",
        "",
        "wait         rows in time   rows late   rows held, about",
        "0 seconds         75.00 %           1                  0",
        "10 seconds          100 %           0                  0",
        "",
        'To have all rows in time: sort(wait="10 seconds")',
    ]


def test_it_answers_as_json(trades: Path) -> None:
    answer = json.loads(profile(trades, "--time", "at", "--key", "device", "--json"))

    assert (answer["rows"], answer["without_time"], answer["out_of_order"]) == (5, 1, 1)
    assert answer["wait_for_seconds"]["1"] == 10
    assert answer["keys"]["worst"][0]["key"] == ["d2"]


def test_it_writes_a_report(trades: Path, tmp_path: Path) -> None:
    profile(trades, "--time", "at", "--html", tmp_path / "report.html")

    assert "figure-waits" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_report_that_cannot_be_written_does_not_cost_the_answer(trades: Path) -> None:
    arguments = ["profile", str(trades), "--time", "at", "--html", str(trades.parent)]

    answer = CliRunner().invoke(app, arguments)

    assert isinstance(answer.exception, IsADirectoryError)
    assert answer.stdout.startswith("5 rows, 4 of them with a time")


def test_several_files_are_one_stream_in_the_order_given(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("b.parquet", "a.csv", "c.jsonl"))
    pq.write_table(rows(50, 60), first)
    csv.write_csv(rows(55, 70), second)
    third.write_text('{"at": "1970-01-01 00:01:05", "device": "d9"}\n')

    def out_of_order(*files: Path) -> int:
        return json.loads(profile(*files, "--time", "at", "--json"))["out_of_order"]

    assert out_of_order(first, second, third) == 2
    assert out_of_order(second, third, first) == 3


def test_a_directory_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    pq.write_table(rows(50, 60), tmp_path / "rows" / "1.parquet")
    pq.write_table(rows(1), tmp_path / "rows" / "0.parquet")

    assert profile(tmp_path / "rows", "--time", "at").startswith("3 rows, all of them in order")


def test_arrivals_and_integers_are_read(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("n,seen\n3,30\n1,10\n2,20\n")

    answer = profile(tmp_path / "in.csv", "--time", "n", "--arrival", "seen", "--unit", "s")

    assert answer.startswith("3 rows, all of them in order")


def test_a_large_file_is_read_batch_by_batch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="latecomer.report.rows")
    many = pa.table({"at": pa.array([*range(300_000), 0], pa.timestamp("s"))})
    pq.write_table(many, tmp_path / "in.parquet")

    answer = profile(tmp_path / "in.parquet", "--time", "at")

    assert answer.startswith("300,001 rows, 0.000333 % of them out of order")
    assert "measured 131,072 rows" in caplog.messages


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("none.parquet", ["--time", "at"], "there is no file"),
        ("text.txt", ["--time", "at"], "Hint: use a file named .parquet"),
        ("broken.parquet", ["--time", "at"], 'cannot read ".*broken.parquet"'),
        ("trades.parquet", ["--time", "when"], 'no column "when"; the rows have "at", "device"'),
        ("trades.parquet", ["--time", "device"], 'the time column "device" is of type string'),
        ("trades.parquet", ["--time", "at", "--key", "who"], 'no column "who"'),
        ("trades.parquet", ["--time", "at", "--arrival", "device"], 'the arrival column "device"'),
    ],
)
def test_files_that_cannot_be_read_are_refused(
    trades: Path, name: str, options: list[str], message: str
) -> None:
    (trades.parent / "text.txt").write_text("at\n")
    (trades.parent / "broken.parquet").write_text("at\n")

    with pytest.raises(LatecomerError, match=message):
        profile(trades.parent / name, *options)


@pytest.mark.skipif(not COMMITS.exists(), reason="the commits are not part of the repository")
def test_the_commits_of_a_project() -> None:
    answer = profile(COMMITS, "--time", "time", "--arrival", "arrival", "--key", "author")

    assert answer.startswith("60,751 rows, 50.1 % of them out of order, in at most 27 interleaved")
    assert 'To have 99 % of the rows in time: sort(wait="66.8 days")' in answer
    assert answer.endswith("and 2,434 keys more\n")

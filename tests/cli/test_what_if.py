"""`latecomer what-if` tries waits and recalls on a file."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from latecomer.cli import app
from latecomer.errors import ColumnNotFoundError, LatecomerError, OptionError


def what_if(*arguments: object) -> str:
    """Run the command in this process, and pass on its errors."""
    answer = CliRunner().invoke(app, ["what-if", *map(str, arguments)])
    if answer.exception is not None and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    assert answer.exit_code == 0, answer.output
    return answer.stdout


@pytest.fixture
def trades(tmp_path: Path) -> Path:
    path = tmp_path / "trades.parquet"
    seconds = [0, 5, 61, 3, 130, 62]
    made = {
        "at": pa.array(seconds, pa.timestamp("s")),
        "symbol": ["a", "b", "a", "a", "a", "b"],
        "price": [1, 2, 3, 4, 5, 6],
        "came": [1, 2, 3, 4, 5, 6],
    }
    pq.write_table(pa.table(made), path)
    return path


def test_windows_with_waits_and_recalls(trades: Path, tmp_path: Path) -> None:
    answer = what_if(
        *(trades, "--time", "at", "--window", "1 minute", "--by", "symbol", "--every", 1),
        *("--aggregate", "total=sum(price)", "--aggregate", "n=count()"),
        *("--wait", "0s", "--wait", "2 minutes", "--recall", 0.9, "--json"),
        *("--html", tmp_path / "page.html"),
    )

    trials = {trial["asked"]: trial for trial in json.loads(answer)["trials"]}
    assert list(trials) == ["0 seconds", "2 minutes", "recall 0.9"]
    # The row at 3 s comes after one at 61 s, so its window is closed. "b" has only the row at 62 s.
    assert (trials["0 seconds"]["late"], trials["0 seconds"]["missing"]) == (2, 1)
    assert trials["0 seconds"]["errors"]["total"]["largest"] == 4
    assert trials["2 minutes"]["wrong"] == 0
    assert "<h2>How wrong?</h2>" in (tmp_path / "page.html").read_text()


def test_without_windows_rows_are_sorted(trades: Path) -> None:
    answer = what_if(trades, "--time", "at", "--arrival", "came", "--unit", "s", "--wait", "0s")

    assert "0 seconds        2 (33.33 %)     2 (33.33 %)" in answer


def test_hopping_windows_and_batches_by_arrival(trades: Path) -> None:
    arguments = (trades, "--time", "at", "--arrival", "came", "--unit", "s", "--window", "1 minute")
    answer = json.loads(
        what_if(*arguments, "--hop", "30s", "--every", "2s", "--wait", "1 minute", "--json")
    )

    assert answer["micro_batches"] == 4
    assert answer["trials"][0]["windows"] == 6


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (["--window", "1 minute"], OptionError, "no wait or recall to try"),
        (["--wait", "0s", "--hop", "1s"], OptionError, "--hop needs --window"),
        (
            ["--wait", "0s", "--window", "1 minute", "--aggregate", "n=nix(x)"],
            OptionError,
            "cannot read",
        ),
        (
            ["--wait", "0s", "--window", "1 minute", "--aggregate", "n=sum()"],
            OptionError,
            "needs a col",
        ),
        (["--wait", "0s", "--window", "1 minute", "--by", "nix"], ColumnNotFoundError, '"nix"'),
        (
            ["--wait", "0s", "--window", "1 minute", "--aggregate", "n=sum(nix)"],
            ColumnNotFoundError,
            '"nix"',
        ),
        (["--recall", "2"], OptionError, "recall must be above 0"),
        (["--wait", "often"], LatecomerError, "often"),
    ],
)
def test_options_that_cannot_be_tried_are_refused(
    trades: Path, arguments: list[str], error: type[LatecomerError], words: str
) -> None:
    with pytest.raises(error, match=words):
        what_if(trades, "--time", "at", *arguments)

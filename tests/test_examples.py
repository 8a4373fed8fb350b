"""The examples run, and their results are right."""

import re
import runpy
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from pyspark.sql import SparkSession

from examples import ad_clicks, kafka_to_delta, overdrafts, quotes
from tests.support.broker import create_topics

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_help_says_what_the_example_does_and_does_not_run_it(
    example: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(sys, "argv", [str(example), "--help"])

    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(example), run_name="__main__")

    assert stopped.value.code == 0
    assert f"python examples/{example.name}" in capsys.readouterr().out


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_imports_only_modules_that_the_documentation_names(example: Path) -> None:
    pages = "".join(page.read_text() for page in Path(example.parents[1], "docs").glob("*.md"))
    modules = re.findall(r"^(?:from|import) (latecomer[\w.]*)", example.read_text(), re.MULTILINE)

    assert modules
    assert [name for name in modules if name != "latecomer" and f"`{name}`" not in pages] == []


def test_users_who_click_one_ad_and_then_the_other(spark: SparkSession) -> None:
    answers = ad_clicks.main(spark)

    early, final = answers[ad_clicks.SHORT], answers[ad_clicks.LONG]
    truth = all_matches()
    assert len(truth) > 100
    assert len(final & truth) / len(truth) > 0.97
    assert len(early & truth) / len(truth) > 0.75
    assert len(final & truth) > len(early & truth)


def all_matches() -> set[tuple[int, object, object]]:
    """Return all matches, as if no click had been late."""
    clicks = sorted(ad_clicks.clicks().to_pylist(), key=lambda click: click["time"])
    found = set()
    for at, x in enumerate(clicks):
        if x["ad"] != "X":
            continue
        for y in clicks[at + 1 :]:
            if y["time"] - x["time"] > timedelta(minutes=1):
                break
            if (y["user"], y["ad"]) == (x["user"], "Y"):
                found.add((x["user"], naive(x), naive(y)))
                break
    return found


def naive(click: dict[str, object]) -> object:
    """Return a time without its zone, as PySpark returns instants."""
    return click["time"].replace(tzinfo=None)  # type: ignore[attr-defined]


def test_bids_asks_and_trades_are_joined_with_the_requested_recall(
    spark: SparkSession, tmp_path: Path
) -> None:
    page = tmp_path / "quotes.html"

    results, told = quotes.main(spark, page)

    true = all_quotes()
    latest = max(row["time"] for row in results).timestamp()
    assert len(results) / int((true <= latest * quotes.SECOND).sum()) > quotes.RECALL
    # The feeds begin 20 seconds after minute 13, and the asks are slow in minutes 15 to 17.
    waits = {row["time"].minute: row["wait"] for row in told}
    assert waits[14] < 1_200
    assert waits[16] > 5_000
    assert waits[18] < 1_200
    assert "figure-recall" in page.read_text()


def all_quotes() -> npt.NDArray[np.int64]:
    """Return the times of all results, as if no row had been late."""
    found = []
    feeds = [feed.select(["symbol", "time"]).to_pandas() for feed in quotes.feeds().values()]
    for symbol in sorted(set(feeds[0]["symbol"])):
        bids, asks, trades = (
            feed["time"][feed["symbol"] == symbol].astype("int64").to_numpy() for feed in feeds
        )
        rows = bids[:, None, None], asks[None, :, None], trades[None, None, :]
        latest = np.maximum(np.maximum(rows[0], rows[1]), rows[2])
        near = np.logical_and.reduce(
            np.broadcast_arrays(*(latest - each <= 5 * quotes.SECOND for each in rows))
        )
        found.append(latest[near])
    return np.concatenate(found)


def test_purchases_from_kafka_are_counted_once_also_after_a_break(
    lake: SparkSession, broker: str, tmp_path: Path
) -> None:
    # On a busy machine a topic that is made by writing to it may be missing for minutes.
    create_topics(lake, broker, "purchases", "late")
    counted, late = kafka_to_delta.main(lake, broker, str(tmp_path))

    rows = kafka_to_delta.purchases()
    is_late = {row["id"]: row["arrival"] - row["time"] == kafka_to_delta.OFFLINE for row in rows}
    closed = (max(row["time"] for row in rows) - kafka_to_delta.WAIT) // 60
    truth = Counter(
        (row["time"] // 60, row["shop"])
        for row in rows
        if row["time"] // 60 < closed and not is_late[row["id"]]
    )
    assert {(row.window.start.minute, row.shop): row.purchases for row in counted} == truth
    assert len(counted) == len(truth)
    assert sorted(row["id"] for row in late) == sorted(id_ for id_, late in is_late.items() if late)


def test_wrong_alerts_are_retracted(spark: SparkSession) -> None:
    said, left = overdrafts.main(spark)

    truth = set()
    balances: dict[int, int] = {}
    for row in sorted(overdrafts.payments().to_pylist(), key=lambda row: row["time"]):
        before = balances.get(row["account"], 0)
        balances[row["account"]] = after = before + row["cents"]
        if before >= 0 > after:
            truth.add((naive(row), row["account"], after))
    assert {tuple(row) for row in left} == truth
    assert len(left) == len(truth) > 50
    assert len(said) > len(left), "some alerts should have been wrong"

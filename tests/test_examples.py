"""The examples run, and what they tell is true."""

from datetime import timedelta

from pyspark.sql import SparkSession

from examples import ad_clicks, overdrafts


def test_users_who_click_one_ad_and_then_the_other(spark: SparkSession) -> None:
    answers = ad_clicks.main(spark)

    early, final = answers[ad_clicks.SHORT], answers[ad_clicks.LONG]
    truth = all_matches()
    assert len(truth) > 100
    assert len(final & truth) / len(truth) > 0.97
    assert len(early & truth) / len(truth) > 0.75
    assert len(final & truth) > len(early & truth)


def all_matches() -> set[tuple[int, object, object]]:
    """Look at the clicks as if none had been late."""
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
    """The driver's Python shows instants without their zone."""
    return click["time"].replace(tzinfo=None)  # type: ignore[attr-defined]


def test_alerts_that_were_wrong_are_taken_back(spark: SparkSession) -> None:
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

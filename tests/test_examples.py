"""The examples run, and what they tell is true."""

from datetime import timedelta

from pyspark.sql import SparkSession

from examples import ad_clicks


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

"""Names of the previous release still work, and warn with the new name."""

import pytest
from pyspark.sql import SparkSession

import latecomer as lc


@pytest.mark.parametrize(("old", "new"), [("disorder", "inject_disorder"), ("achieved", "recall")])
def test_an_old_name_is_the_new_one_with_a_warning(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"latecomer\.{old} is now latecomer\.{new}"):
        found = getattr(lc, old)

    assert found is getattr(lc, new)
    assert old not in dir(lc)


def test_a_name_that_never_existed_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'disordred'"):
        lc.disordred  # noqa: B018


def test_sort_after_windows_waits_and_warns(spark: SparkSession) -> None:
    df = spark.range(0).selectExpr("timestamp_seconds(id) AS time")
    windows = lc.disordered(df, time="time").hopping("10 s", "5 s")

    with pytest.warns(DeprecationWarning, match=r"after tumbling, hopping or lifetime is now wait"):
        old = windows.sort(wait=["1 s", "9 s"], late="drop", only_changes=True)

    assert old.plan == windows.wait(["1 s", "9 s"], late="drop", only_changes=True).plan

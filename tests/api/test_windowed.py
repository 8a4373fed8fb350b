from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import latecomer as lc
from latecomer import agg
from latecomer.clock.policy import ClockByRecall, OneClock
from latecomer.errors import OptionError, StepError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000


@pytest.fixture(scope="module")
def windows(spark: SparkSession) -> lc.DisorderedWindows:
    df = spark.createDataFrame([], "time timestamp, ad string, x int")
    return lc.disordered(df, time="time").tumbling("1 hour")


def test_windows_wait_for_one_time_for_several_or_for_a_recall(
    windows: lc.DisorderedWindows,
) -> None:
    assert windows.wait("5 s").plan.clock == OneClock((5 * SECOND,))
    assert windows.wait(["1 s", "5 s"]).plan.clock == OneClock((SECOND, 5 * SECOND))
    assert windows.wait(recall=0.9).plan.clock == ClockByRecall(recalls=(0.9,))
    counted = windows.wait(["60 s", "2 min"]).aggregate(n=agg.count())
    assert counted.aggregation.texts == ("60 s", "2 min")
    # Nothing is sorted before rows are counted.
    assert windows.wait("5 s").plan.stages[0].operators == ()


def test_all_rows_of_a_window_are_aggregated_without_groups(windows: lc.DisorderedWindows) -> None:
    waiting = windows.wait("5 s")

    assert waiting.aggregate(n=agg.count()).plan == waiting.group_by().aggregate(n=agg.count()).plan


def test_only_changes_are_of_several_waits(windows: lc.DisorderedWindows) -> None:
    assert windows.wait(["1 s", "5 s"], only_changes=True).only_changes

    with pytest.raises(OptionError, match="only_changes=True needs tumbling or hopping windows"):
        windows.wait("1 s", only_changes=True)


def test_late_rows_are_folded_back_up_to_a_horizon(windows: lc.DisorderedWindows) -> None:
    folded = windows.wait(["1 s", "5 s"], late="fold", horizon="1 minute")

    assert folded.plan.clock == OneClock((SECOND, 5 * SECOND), horizon=60 * SECOND)
    assert folded.plan.late == "divert"
    answers = folded.group_by("ad").aggregate(n=agg.count())
    assert answers.to_df().columns[-2:] == ["is_changed", "is_correction"]
    assert "late rows correct answers for 1 minute" in answers.explain()
    for horizon in (None, "5 s"):
        with pytest.raises(
            OptionError, match=r"longer than the longest wait, 5 seconds; got .*\nHint"
        ):
            windows.wait(["1 s", "5 s"], late="fold", horizon=horizon)
    with pytest.raises(OptionError, match=r'horizon= is only for late="fold"\.\nHint'):
        windows.wait("1 s", horizon="1 minute")
    by_recall = windows.wait(recall=0.9, late="fold", horizon="1 minute").plan.clock
    assert by_recall == ClockByRecall(recalls=(0.9,), horizon=60 * SECOND)


def test_the_name_of_the_release_before_warns(windows: lc.DisorderedWindows) -> None:
    with pytest.warns(DeprecationWarning, match=r"is now wait\(...\)"):
        old = windows.sort(wait="5 s", late="drop")

    assert old.plan == windows.wait("5 s", late="drop").plan


def test_a_query_of_ones_own_is_run_in_parts(windows: lc.DisorderedWindows) -> None:
    answers = windows.wait("5 s").apply(
        partial=lambda rows: rows.group_by("ad").aggregate(n=agg.count()),
        merge=lambda parts: parts.group_by("ad").aggregate(n=agg.sum("n")),
    )

    assert answers.aggregation.merges
    assert len(answers.aggregation.summaries) == 2


def test_queries_that_cannot_run_in_parts_are_refused(windows: lc.DisorderedWindows) -> None:
    def counted(rows: lc.WindowedStream) -> lc.AggregatedStream:
        return rows.group_by("ad").aggregate(n=agg.count())

    def added(parts: lc.AggregatedStream) -> lc.AggregatedStream:
        return parts.group_by().aggregate(n=agg.sum("n"))

    waiting = windows.wait("5 s")
    with pytest.raises(OptionError, match="partial must aggregate the rows once"):
        waiting.apply(partial=lambda rows: added(counted(rows)), merge=added)
    with pytest.raises(OptionError, match="merge must aggregate the results of partial"):
        waiting.apply(partial=counted, merge=lambda parts: parts)


def test_windows_without_an_aggregate_say_what_to_call_next(windows: lc.DisorderedWindows) -> None:
    waiting = windows.wait("5 s")

    with pytest.raises(StepError, match="WindowedStream has no to_df: its windows are not"):
        waiting.to_df()  # type: ignore[attr-defined]
    assert waiting.explain().endswith(
        "or group_by(...), or leave the windows out for rows in order."
    )

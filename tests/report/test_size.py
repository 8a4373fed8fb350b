"""The planner computes with its coefficients, which are those that the benchmarks measured."""

import json
from pathlib import Path

import pytest

from latecomer.errors import OptionError
from latecomer.report import size
from latecomer.report.size import plan_size
from latecomer.time import SECOND

HOUR = 3_600 * SECOND
RESULTS = Path(__file__).parents[2] / "benchmarks/results"


def kept(name: str) -> list[dict]:
    return [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text().splitlines()]


def test_a_sort_holds_every_row_of_its_wait() -> None:
    planned = plan_size(rate=200_000, wait=HOUR, row_bytes=100)

    assert planned.batch_rows == 2_000_000
    assert planned.held == 720_000_000
    assert planned.state_bytes == 72_000_000_000
    assert planned.shuffle_bytes == 200_000_000
    assert planned.cores == 2


def test_windows_hold_a_state_for_each_key_however_many_rows_there_are() -> None:
    few, many = (
        plan_size(rate=rate, wait=HOUR, window=60 * SECOND, keys=1_000) for rate in (10_000, 10**7)
    )

    assert few.held == many.held == 62_000
    assert many.cores > 20 * few.cores


def test_dropping_late_rows_keeps_rows_out_of_the_shuffle() -> None:
    divert, drop = (
        plan_size(rate=10**6, wait=HOUR, window=60 * SECOND, late=late)
        for late in ("divert", "drop")
    )

    assert drop.shuffle_bytes * 100 < divert.shuffle_bytes


def test_cores_grow_with_the_rate() -> None:
    assert [plan_size(rate=rate, wait=HOUR).cores for rate in (1, 10**5, 10**6, 10**7)] == [
        1,
        1,
        10,
        99,
    ]


def test_a_plan_in_words_names_what_is_held() -> None:
    told = str(plan_size(rate=200_000, wait=HOUR))

    assert "720,000,000  rows held at most" in told
    assert "72 GB  of state in the checkpoint" in told


def test_a_rate_of_zero_is_refused() -> None:
    with pytest.raises(OptionError, match="rate must be more than 0; got 0"):
        plan_size(rate=0, wait=HOUR)


def test_the_coefficients_are_those_of_the_kept_results() -> None:
    lines = kept("size")
    for line in (line for line in lines if line["question"] == "rows"):
        assert line["state"] <= line["row_bytes"]
        assert line["shuffle"] == pytest.approx(line["row_bytes"], rel=0.02)
    (states,) = (line for line in lines if line["question"] == "states")
    assert pytest.approx((states["shuffle"], states["state"]), rel=0.05) == (
        size.SHUFFLED_STATE,
        size.HELD_STATE,
    )
    (memory,) = (line for line in lines if line["question"] == "memory")
    assert pytest.approx(memory["process_mb"] * 1e6, rel=0.1) == size.PROCESS_BYTES
    (sort,) = (line for line in kept("spark_sort") if line.get("query") == "latecomer")
    # Machines differ, so the plan may assume less speed than the kept runs, but never more.
    assert sort["rows_per_second"] / 2 * 1.02 >= size.SORTED_PER_CORE
    (second,) = (
        line
        for line in kept("waits")
        if line.get("window") == "1 second" and "spark" in line["cell"]
    )
    rates = second["rows_per_second"]
    for late, way in (("drop", "several waits"), ("divert", "several waits, divert")):
        assert rates[way] / 2 * 1.02 >= size.COUNTED_PER_CORE[late]


def test_two_executors_hold_the_rows_and_bytes_that_are_planned() -> None:
    (line,) = (line for line in kept("size") if line["question"] == "cluster")

    assert line["held_rows"] == line["planned_rows"]
    assert 0.7 < line["bytes_over_planned"] < 1.1

"""Spark Connect with two executor processes gives the rows of the local host."""

import json
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from tests.support.batches import SECOND, TIME, expected, random_batches


def run() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.cluster_job"],
        capture_output=True,
        text=True,
        timeout=1_800,
        check=False,
    )
    # Show all output: the error is above the messages of executors that are being stopped.
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def counts(batches: list[pa.Table]) -> list[list[float]]:
    """Return the counts of the local host. On the driver they come out one batch earlier."""
    summary = Summary((), (("n", agg.count()), ("least", agg.min("id"))))
    spec = Aggregation(TIME, Windows(5 * SECOND, 5 * SECOND), (7 * SECOND,), (summary,))
    ready, _ = expected(
        batches, Plan(Source(TIME), OneClock((7 * SECOND,)), "divert", (Stage((), (spec,)),))
    )
    return sorted(
        [n - 1, row.window["start"].timestamp(), row.n, row.least]
        for n, rows in ready.items()
        for row in rows
    )


def numbered(batches: list[pa.Table]) -> Counter[tuple[int, int]]:
    """Number the rows of each key that are not late, in order of time."""
    plan = Plan(
        Source(TIME, ("key",)), OneClock((7 * SECOND,)), "divert", (Stage(("key",), (Sort(TIME),)),)
    )
    late = {row.id for rows in expected(batches, plan)[1].values() for row in rows}
    rows = [row for batch in batches for row in batch.to_pylist() if row["id"] not in late]
    found: Counter[tuple[int, int]] = Counter()
    count: Counter[object] = Counter()
    for row in sorted(rows, key=lambda row: row["time"]):
        count[row["key"]] += 1
        found[row["id"], count[row["key"]]] += 1
    return found


def pairs(batches: list[pa.Table]) -> set[tuple[int, int]]:
    """Find rows of one key that are within a second of each other."""
    rows = [row for batch in batches for row in batch.to_pylist() if row["time"] is not None]
    return {
        (a["id"], b["id"])
        for a in rows
        for b in rows
        if a["key"] == b["key"] is not None and abs(a["time"] - b["time"]) <= timedelta(seconds=1)
    }


def assert_told(got: dict[str, Any]) -> None:
    """Check the status and the listener for a query of `start`, and for a plain one."""
    of_start, of_plain = got["exported"]
    rows = got["status"]["rows"]
    assert rows["ready"] == len(got["ready"])
    assert sum(rows["late"].values()) == len(got["late"])
    assert rows["in"] == rows["ready"] + rows["held"] + len(got["late"])
    assert got["status"]["exact"]
    assert (of_start["query"], of_start["rows"]) == ("in order", rows)
    assert of_start["delays"] == got["status"]["delays"]
    assert (of_plain["query"], of_plain["rows"]) == ("joined", got["plain"]["rows"])
    assert of_plain["recalls"] == got["plain"]["recalls"]
    assert got["plain"]["rows"]["ready"] == len(got["streamed"])
    assert got["plain"]["exact"]


@pytest.mark.jvm
def test_the_rows_of_the_local_host_come_out_elsewhere_too() -> None:
    batches = random_batches(3)
    plan = Plan(
        Source(TIME, ("key",)), OneClock((7 * SECOND,)), "divert", (Stage(("key",), (Sort(TIME),)),)
    )
    ready, late = expected(batches, plan)

    got = run()

    assert got["master"] == "local-cluster[2,1,1024]"
    for name, want in (("ready", ready), ("late", late)):
        assert want
        assert got[name] == sorted([n, row.id] for n, rows in want.items() for row in rows)
    assert_told(got)
    assert got["counts"] == counts(batches)
    streamed, joined = ({tuple(pair) for pair in got[name]} for name in ("streamed", "joined"))
    assert len(streamed) == len(got["streamed"]) > 0
    assert streamed <= joined
    assert joined == pairs(batches)
    assert 0 < got["achieved"] <= len(streamed)
    left = Counter()
    for change, row, nth in got["changes"]:
        left[row, nth] += 1 if change == "insert" else -1
    assert +left == numbered(batches)
    assert min(left.values()) == 0, "nothing was corrected"
    times = [time for time, _ in got["whole"]]
    with_time = [row for batch in batches for row in batch.to_pylist() if row["time"] is not None]
    assert sorted(number for _, number in got["whole"]) == [row["id"] for row in with_time]
    assert times == sorted(times)
    assert [number for _, number in sorted(got["replayed"], key=lambda row: row[1])] == [
        row["id"] for row in with_time
    ]

"""A query that is killed and resumed gives the rows of an undisturbed one."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from latecomer import agg
from latecomer.clock.policy import OneClock
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.hosts.local import LocalHost
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn

MOMENTS = (0, 2, 1)
"""Number of micro-batches that each process commits, in both queries, before it is killed.

A kill before the first commit comes while the states are being loaded. The others come after
several micro-batches of the same process. The exact moment is random; `tests.chaos` tries every
effect of a query.
"""
BATCHES = 3 * len(MOMENTS) + 4
"""More files than the killed processes read: each reads two micro-batches and the killed one."""
SECOND = 1_000_000
TIME = TimeColumn("time")

Answer = dict[str, Any]
"""A row of an aggregation."""


def make_rows() -> pa.Table:
    """Return rows that are clearly in time or clearly late.

    If a kill comes before Spark has logged a micro-batch, the file source may put two files into
    the next one. That must not change which rows are late.
    """
    random_ = np.random.default_rng(5)
    times = np.arange(4_800) * SECOND // 20
    delays = random_.integers(0, 19 * SECOND, len(times))
    is_late = (random_.random(len(times)) < 0.05) & (times < 140 * SECOND)
    delays[is_late] = 90 * SECOND
    rows = pa.table(
        {
            "id": np.arange(len(times)),
            "time": pa.array(times, pa.timestamp("us", "UTC"), mask=random_.random(4_800) < 0.01),
            "key": random_.integers(0, 50, len(times)).astype(np.int32),
        }
    )
    return rows.take(pa.array(np.argsort(times + delays, kind="stable")))


SORTED = Plan(
    Source(TIME, ("key",)), OneClock((20 * SECOND,)), "divert", (Stage(("key",), (Sort(TIME),)),)
)
WAITS = (5 * SECOND, 20 * SECOND)
COUNTS = Aggregation(
    TIME,
    Windows(10 * SECOND, 10 * SECOND),
    WAITS,
    (Summary(("key",), (("rows", agg.count()), ("ids", agg.sum("id")))),),
)
COUNTED = Plan(Source(TIME), OneClock(WAITS), "divert", (Stage(("key",), (COUNTS,)),))


def undisturbed(rows: pa.Table, plan: Plan) -> tuple[pa.Table, list[int]]:
    """Return the output of an undisturbed run on the local host: all rows, and the late ids."""
    host = LocalHost(plan, rows.schema)
    size = -(-rows.num_rows // BATCHES)
    cuts = [rows.slice(start, size) for start in range(0, rows.num_rows, size)]
    steps = [host.step(batch) for batch in [*cuts, rows.slice(0, 0)]]
    late = [number for step in steps for number in step.late["id"].to_pylist()]
    return pa.concat_tables([step.ready for step in steps]), sorted(late)


def start(directory: Path) -> subprocess.Popen[str]:
    # The process has its own group, so that the kill also ends Spark's JVM and its workers.
    with (directory / "errors.txt").open("w") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.support.restart_job", str(directory)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )


def kill(job: subprocess.Popen[str]) -> None:
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()


def committed(directory: Path) -> int:
    """Return the number of committed micro-batches."""
    both = [directory / name / "commits" for name in ("checkpoint", "checkpoint_of_windows")]
    return sum(len(list(commits.glob("[0-9]*"))) for commits in both)


def ids(directory: Path) -> list[int]:
    return sorted(ds.dataset(directory, format="parquet").to_table()["id"].to_pylist())


@pytest.mark.jvm
def test_killed_at_random_and_resumed_gives_exactly_the_rows_of_an_undisturbed_run(
    tmp_path: Path,
) -> None:
    rows = make_rows()
    write_micro_batches(rows, tmp_path / "rows", BATCHES)
    moments = random.Random(7)
    for more in MOMENTS:
        before = committed(tmp_path)
        job = start(tmp_path)
        assert job.stdout is not None
        assert job.stdout.readline() == "started\n"
        while committed(tmp_path) < before + more:
            assert job.poll() is None, (tmp_path / "errors.txt").read_text()
            time.sleep(0.02)
        # Kill within the next micro-batch, its writes or its commit, and not later. The first
        # micro-batch of a process takes longer.
        end = time.monotonic() + moments.uniform(0, 1 if more else 8)
        while time.monotonic() < end and committed(tmp_path) <= before + more:
            time.sleep(0.01)
        kill(job)
    done = committed(tmp_path)
    last = start(tmp_path)
    out, _ = last.communicate(timeout=1_800)

    assert out.endswith("done\n"), (tmp_path / "errors.txt").read_text()
    assert 0 < done < 2 * BATCHES, "the kills should come in the middle"
    ready, late = undisturbed(rows, SORTED)
    assert late, "the stream should have late rows"
    assert ids(tmp_path / "ready") == sorted(ready["id"].to_pylist())
    assert ids(tmp_path / "late") == late
    windows, late_for_windows = undisturbed(rows, COUNTED)
    assert ids(tmp_path / "late_for_windows") == late_for_windows
    answers = ds.dataset(tmp_path / "answers", format="parquet").to_table()
    check_answers(answers.to_pylist(), windows.to_pylist())


def check_answers(got: list[Answer], expected: list[Answer]) -> None:
    """Check that each wait gives a window once, exact for the last wait, and not less for others.

    A kill may put two files into one micro-batch. An early result then has more rows, or exists
    where an undisturbed run had no rows of the window yet.
    """
    finals, early = rows_of(got, is_final=True), rows_of(got, is_final=False)
    assert finals == rows_of(expected, is_final=True)
    assert len(got) == len(finals) + len(early), "an answer came twice"
    for place, (rows, _) in rows_of(expected, is_final=False).items():
        assert early[place][0] >= rows
    # The last windows have only early results so far.
    closed = {start for start, _ in finals}
    for place, (rows, _) in early.items():
        assert place[0] not in closed or rows <= finals[place][0]


def rows_of(answers: list[Answer], *, is_final: bool) -> dict[tuple[float, int], tuple[int, int]]:
    return {
        (row["window"]["start"].timestamp(), row["key"]): (row["rows"], row["ids"])
        for row in answers
        if row["is_final"] == is_final
    }

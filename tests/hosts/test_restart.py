"""A query that is killed and resumed ends with the rows of one that was not."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from latecomer.generate.micro_batches import write_micro_batches
from latecomer.hosts.local import LocalHost
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn

KILLS = 10
BATCHES = 3 * KILLS + 4
"""More than the kills let through: two micro-batches each, and the one that is killed."""
SECOND = 1_000_000
TIME = TimeColumn("time")


def make_rows() -> pa.Table:
    """Rows that are clearly in time or clearly late.

    A kill that comes before Spark has written down what a micro-batch holds lets its file source
    cut the next one anew, two files in one. That must not decide what is late here.
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


def undisturbed(rows: pa.Table) -> tuple[list[int], list[int]]:
    """The rows that come out of a run without a break, on the reference host."""
    plan = Plan(Source(TIME, ("key",)), (20 * SECOND,), "divert", (Stage(("key",), (Sort(TIME),)),))
    host = LocalHost(plan, rows.schema)
    size = -(-rows.num_rows // BATCHES)
    cuts = [rows.slice(start, size) for start in range(0, rows.num_rows, size)]
    steps = [host.step(batch) for batch in [*cuts, rows.slice(0, 0)]]
    ready = [number for step in steps for number in step.ready["id"].to_pylist()]
    late = [number for step in steps for number in step.late["id"].to_pylist()]
    return sorted(ready), sorted(late)


def start(directory: Path) -> subprocess.Popen[str]:
    # A group of its own, so that the kill takes Spark's JVM and its workers along.
    return subprocess.Popen(
        [sys.executable, "-m", "tests.hosts.restart_job", str(directory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def kill(job: subprocess.Popen[str]) -> None:
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()


def committed(directory: Path) -> int:
    """How many micro-batches are done."""
    return len(list((directory / "checkpoint" / "commits").glob("[0-9]*")))


def ids(directory: Path) -> list[int]:
    return sorted(ds.dataset(directory, format="parquet").to_table()["id"].to_pylist())


def test_killed_at_random_and_resumed_gives_exactly_the_rows_of_an_undisturbed_run(
    tmp_path: Path,
) -> None:
    rows = make_rows()
    write_micro_batches(rows, tmp_path / "rows", BATCHES)
    moments = random.Random(7)
    for _ in range(KILLS):
        before = committed(tmp_path)
        more = moments.choice([0, 1, 1, 2])
        job = start(tmp_path)
        assert job.stdout is not None
        assert job.stdout.readline() == "started\n"
        while committed(tmp_path) < before + more:
            assert job.poll() is None, "the query ended before the last kill; give it more to do"
            time.sleep(0.02)
        # Somewhere inside the next micro-batch, its writes or its commit, and not after that; the
        # first one of a process takes longer.
        end = time.monotonic() + moments.uniform(0, 1 if more else 8)
        while time.monotonic() < end and committed(tmp_path) <= before + more:
            time.sleep(0.01)
        kill(job)
    done = committed(tmp_path)
    last = start(tmp_path)
    out, _ = last.communicate(timeout=300)

    assert out.endswith("done\n")
    assert 0 < done < BATCHES, "the kills should come in the middle"
    ready, late = undisturbed(rows)
    assert late, "the stream should have late rows"
    assert ids(tmp_path / "ready") == ready
    assert ids(tmp_path / "late") == late

"""Faults of real queries on real Spark.

    effect      the query ends before or after its k-th effect, and is started again
    worker      a Python worker is killed in the middle of a task
    executor    one of two executors is killed in the middle of a task; Spark starts another
    driver      the whole process, its JVM and its workers are killed at the k-th effect

The queries are the plans of the catalogue, one after the other, on one long-lived
`local-cluster[2,1,1024]` with speculation on. Their output is compared with that of the local host,
which gets the micro-batches and the clock that Spark has logged.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import StreamingQueryException

import latecomer as lc
from latecomer.api.aggregated import AggregatedStream
from latecomer.api.readable import Readable
from latecomer.batch import retyped
from latecomer.errors import OptionError
from latecomer.hosts.spark.flush import NUMBER
from tests.chaos import rows as drawing
from tests.chaos.catalogue import Entry, catalogue, sink
from tests.chaos.failpoints import FailPoint, Killed, end_query
from tests.chaos.invariants import Violation, current
from tests.chaos.processes import descendants, parent
from tests.chaos.reference import Reference, counted
from tests.support.short_lived import CONFIG, TOO_SLOW
from tests.support.streaming import source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = str(Path(__file__).parents[2])
BATCHES = 3
_EFFECTS = ("effect",) * 3
KINDS = ("executor", *_EFFECTS, "worker", *_EFFECTS, "worker", *_EFFECTS, "effect")
"""Kinds of faults, in turn. There are 13, so that each plan begins with another one. Effects come
between kills: after a kill the query reads all rows, and the next kill would find no task. Only one
kills an executor, because a new executor takes 12 s of processor time, and an effect takes two.
"""
_COMMANDS = {
    "executor": "CoarseGrainedExecutorBackend",
    # The daemon, whichever module it runs, and the workers that it forks.
    "worker": "daemon pyspark.worker",
}
"""Text in the command lines of the processes to kill."""
ALL = ("ended", "killed a worker", "killed an executor", "killed the driver")
"""The names by which `run` counts faults."""
CLUSTER = {
    **CONFIG,
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "50ms",
    "spark.executorEnv.PYTHONPATH": ROOT,
    "spark.sql.shuffle.partitions": "2",
    # Spark must not give up because executors were killed.
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.task.maxFailures": "8",
}


@cache
def cluster() -> SparkSession:
    """Start a session with two executors, for all queries."""
    os.environ["PYTHONPATH"] = ROOT
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = lc.session("latecomer-chaos", master="local-cluster[2,1,1024]", config=CLUSTER)
    # Queries fail on purpose here.
    spark.sparkContext.setLogLevel("OFF")
    return spark


class Trial:
    """A query with its rows and outputs, in a directory that outlives its drivers."""

    def __init__(self, seed: int, directory: str) -> None:
        """Draw the rows; the same seed gives the same rows."""
        entries = catalogue()
        self.entry: Entry = entries[seed % len(entries)]
        self.seed, self.directory, self.rng = seed, directory, random.Random(seed)
        self.buckets = self.entry.buckets or 2
        self.streams = drawing.draw(random.Random(seed), self.entry, BATCHES)
        plan = self.entry.plan
        names = ["ready", *(each.source.late for each in plan.inputs)]
        self.paths = {name: f"{directory}/{name}" for name in names}
        if plan.targets:
            self.paths["recall"] = f"{directory}/recall"

    def start(self, spark: SparkSession, end: str) -> Any:  # noqa: ANN401
        """Start the query."""
        dfs = tuple(
            source(spark, batches, f"{self.directory}/rows-{number}")
            for number, batches in enumerate(self.streams)
        )
        outputs = {**self.paths, "ready": sink(self.entry, self.paths["ready"])}
        options: dict[str, Any] = {
            "checkpoint": f"{self.directory}/checkpoint",
            "trigger": {"availableNow": True},
            "end": end,
        }
        if self.entry.states == "driver":
            asked = AggregatedStream(dfs, self.entry.plan, self.buckets)
            return asked.start(outputs, states="driver", **options)
        return Readable(dfs, self.entry.plan, self.buckets).start(outputs, **options)

    def finish(self, spark: SparkSession) -> None:
        """Run the query to its end, and check the outputs.

        Raises:
            Violation: Rows are missing, or there are too many.
        """
        for _ in range(5):
            try:
                self.start(spark, "flush").awaitTermination()
            except StreamingQueryException as error:
                if TOO_SLOW not in str(error):
                    raise Violation(f"it does not go on: {error}") from error
            except OptionError as error:
                if "has ended" not in str(error):
                    raise
                break
            else:
                break
        self._check(spark)

    def _check(self, spark: SparkSession) -> None:
        offsets = self._offsets()
        reference = Reference(self.entry, self.streams)
        reference.upto(offsets, max(offsets))
        expected = dict(enumerate(reference.batches)) | {NUMBER: reference.finish()}
        for output, path in self.paths.items():
            if output == "ready" and self.entry.key:
                table = lc.current(spark, path).toArrow()
                *_, wanted = current(self.entry, expected.values())
                self._compare(output, counted(_like(table, expected, output)), wanted)
                continue
            rows = lc.read(spark, path).toArrow()
            batches = rows.column("batch").to_pylist()
            for number in sorted({*expected, *batches}):
                own = rows.filter(pa.array([each == number for each in batches], pa.bool_()))
                own = _like(own.drop_columns(["batch"]), expected, output)
                wanted_rows = expected.get(number, {}).get(output)
                untold = ["wait"] if number == NUMBER and self.entry.plan.clock.recalls else []
                wanted = Counter() if wanted_rows is None else counted(wanted_rows, *untold)
                self._compare(f"micro-batch {number} of {output}", counted(own, *untold), wanted)

    def _compare(self, what: str, found: Counter[str], wanted: Counter[str]) -> None:
        if found != wanted:
            more, less = sorted((found - wanted).elements()), sorted((wanted - found).elements())
            raise Violation(f"{what} has {more[:3]} too many, {less[:3]} too few")

    def _offsets(self) -> dict[int, dict[str, Any]]:
        """Read the offsets and clocks that Spark has logged for each micro-batch."""
        found = {}
        for file in Path(f"{self.directory}/checkpoint/offsets").glob("[0-9]*"):
            _, meta, *sources = file.read_text().splitlines()
            told = json.loads(meta)
            read = [json.loads(line) for line in sources]
            found[int(file.name)] = {
                "watermark": told["batchWatermarkMs"],
                "now": told["batchTimestampMs"],
                "until": [each["logOffset"] + 1 for each in read if "logOffset" in each],
                "tick": [each["offset"] for each in read if "offset" in each],
            }
        for number in sorted(found):
            # A micro-batch without a tick keeps the wall clock of the one before.
            if number and found[number]["tick"] == found[number - 1]["tick"]:
                found[number]["now"] = found[number - 1]["now"]
        committed = Path(f"{self.directory}/checkpoint/commits").glob("[0-9]*")
        last = max(int(file.name) for file in committed)
        return {number: entry for number, entry in found.items() if number <= last}


def _like(rows: pa.Table, expected: dict[int, dict[str, pa.Table]], output: str) -> pa.Table:
    """Cast rows to the types of the expected ones: Spark has other names for UTC."""
    schemas = [each[output].schema for each in expected.values() if output in each]
    if not schemas:
        return rows
    fields = [field for field in schemas[0] if not field.name.startswith("_lc_")]
    return retyped(rows, pa.schema(fields))


def run(seed: int, only: str | None = None) -> Counter[str]:
    """Cause faults in one query, run it to its end and check it; return the faults by kind.

    With `only` there is one fault, of this kind.

    Raises:
        Violation: Rows were lost or came out twice, or the query does not continue.
    """
    spark, rng = cluster(), random.Random(seed)
    told: list[str] = []
    with tempfile.TemporaryDirectory() as directory:
        trial = Trial(seed, directory)
        try:
            count = 1 if only else rng.choice([2, 3])
            for number in range(count):
                kind = only or KINDS[(seed + number) % len(KINDS)]
                told.append(_fault(kind, trial, spark, rng))
            if seed % 12 == 11 and not only:
                told.append(_kill_driver(trial, rng.randint(3, 24)))
            trial.finish(spark)
        except Violation as violation:
            raise Violation(f"{trial.entry.name}: {told}: {violation}") from violation
        except Exception as error:
            raise Violation(f"{trial.entry.name}: {told}: {error!r} {error}") from error
    print(f"seed {seed}, {trial.entry.name}: {', '.join(told)}", flush=True)
    return Counter(each.partition(":")[0] for each in told if not each.startswith("no "))


def _fault(kind: str, trial: Trial, spark: SparkSession, rng: random.Random) -> str:
    if kind == "effect":
        point = FailPoint(rng.randint(1, 24), end_query)
        with point.installed():
            try:
                trial.start(spark, "flush").awaitTermination()
            except (StreamingQueryException, Killed) as error:
                if "Killed" not in f"{error!r} {error}" and TOO_SLOW not in str(error):
                    raise
            except OptionError as error:
                if "has ended" not in str(error):
                    raise
        return f"ended: {point.hit}" if point.hit else "no effect left"
    query = trial.start(spark, "keep")
    killed = _kill_in_a_task(spark, query, kind, rng)
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        return f"{killed}: the query failed, {str(error)[:60]!r}"
    return killed


def _kill_in_a_task(spark: SparkSession, query: Any, kind: str, rng: random.Random) -> str:  # noqa: ANN401
    """Kill a worker or an executor of this query while a task runs."""
    tracker = spark.sparkContext.statusTracker()
    name = _COMMANDS[kind]
    while query.isActive:
        if tracker.getActiveStageIds():
            found = [pid for pid, line in descendants().items() if name in line]
            if kind == "worker":
                # Workers are forked by the daemon, and share its command line.
                found = [pid for pid in found if parent(pid) in found]
            if found:
                time.sleep(rng.random() / 5)
                pid = rng.choice(found)
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                return f"killed {'a worker' if kind == 'worker' else 'an executor'}"
        time.sleep(0.005)
    return "no task left"


def _kill_driver(trial: Trial, at: int) -> str:
    """Run the query in another process, which is killed at an effect."""
    with Path(f"{trial.directory}/errors.txt").open("w") as errors:
        job = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.victim", str(trial.seed), trial.directory, str(at)],
            stderr=errors,
            start_new_session=True,
            cwd=ROOT,
        )
    code = job.wait()
    if code == -signal.SIGKILL:
        return f"killed the driver: at effect {at}"
    if code:
        told = Path(f"{trial.directory}/errors.txt").read_text()[-2_000:]
        if "has ended" not in told:
            raise Violation(f"the driver failed by itself: {told}")
    return "no effect left in another driver"

"""The modules that each process imports, because the first answer of a query waits for them.

Every Python process that Spark starts imports Latecomer again, in addition to PySpark's own
imports. In a worker these include NumPy and PyArrow, and pandas if it is installed: PyArrow imports
pandas when it first converts values to or from Python or NumPy.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.cloudpickle import dumps

from latecomer.api import agg
from latecomer.clock.policy import OneClock
from latecomer.hosts.spark.parcels import packer
from latecomer.hosts.spark.processor import BucketProcessor
from latecomer.hosts.spark.spark_clock import SparkClock
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.sort import Sort
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from latecomer.operators.base import Operator

ROOT = Path(__file__).parents[1]
ALWAYS = {"latecomer", "latecomer.errors", "latecomer.profile"}
TIME = TimeColumn("time", "us")
SUMMARY = Summary(("key",), (("n", agg.count()), ("sum", agg.sum("value"))))

EVERYWHERE = {
    "aggregates",
    "aggregates.base",
    "aggregates.slices",
    "aggregates.summary",
    "base",
    "levels",
    "runs",
    "shared_sort",
    "sort",
    "temporal",
    "temporal.edges",
    "ways",
}
"""The operators that the host itself uses."""

DECLARE = """
processor = pickle.loads(sys.stdin.buffer.read())
processor.init(Handle())
"""

WORK = """
pack, processor = pickle.loads(sys.stdin.buffer.read())

import numpy as np
import pyarrow as pa
import pandas as pd

draw = np.random.default_rng(1)
columns = {name: draw.integers(0, 50, 3_000) for name in ("time", "key", "value")}
processor.init(Handle())
found = 0
for newest in (0, 100_000):
    clock = SimpleNamespace(getCurrentWatermarkInMs=lambda: newest and (1 << 47) + newest)
    for batch in pack(iter(pa.table(columns).to_batches())):
        for parcel in batch.to_pylist():
            rows = [pd.DataFrame([{**parcel, "branch": 0}])]
            found += len([*processor.handleInputRows((parcel["bucket"],), iter(rows), clock)])
assert found
"""


def test_the_package_imports_its_errors_and_nothing_else() -> None:
    modules = imported("import latecomer")

    assert ours(modules) == ALWAYS
    assert {"numpy", "pyarrow", "pyspark", "importlib.metadata", "dataclasses"} & modules == set()


@pytest.mark.parametrize("module", ["latecomer.runtime.session", "latecomer.runtime.java"])
def test_a_session_needs_nothing_heavy_before_it_starts(module: str) -> None:
    modules = imported(f"import {module}")

    assert modules & {"pyspark", "py4j", "numpy", "numba", "pandas"} == set()


def test_the_process_that_declares_the_state_imports_only_the_processor() -> None:
    modules = imported(DECLARE, dumps(BucketProcessor(plan(Sort(TIME)), 0, 4, SparkClock())))

    spark = "latecomer.hosts.spark"
    theirs = ("processor", "declared", "garbage", "installed")
    names = {"latecomer.hosts", spark, *(f"{spark}.{name}" for name in theirs)}
    assert ours(modules) == ALWAYS | names
    assert modules & {"numpy", "pyarrow", "numba", "pandas"} == set()


@pytest.mark.parametrize(
    ("operator", "operators"),
    [
        (Sort(TIME), set()),
        (
            Aggregation(TIME, Windows(10, 10), (0,), (SUMMARY,)),
            {
                "aggregates.counting",
                "aggregates.sums",
                "aggregates.wide",
                "leaves",
                "windows",
                "windows.aggregate",
                "windows.bounds",
                "windows.grid",
                "windows.states",
            },
        ),
    ],
    ids=["sort", "aggregate"],
)
def test_a_worker_imports_what_its_operator_needs(operator: Operator, operators: set[str]) -> None:
    asked = plan(operator)
    modules = imported(
        WORK, dumps((packer(asked, 4, 0), BucketProcessor(asked, 0, 4, SparkClock())))
    )

    assert modules & {"numba", "pyarrow.dataset", "pyarrow.parquet"} == set()
    named = {name.split(".")[1] for name in ours(modules) - {"latecomer"}}
    assert named == {
        *("arrays", "batch", "clock", "errors", "hosts", "kernels", "labels", "operators", "plan"),
        *("profile", "time", "waits"),
    }
    prefix = "latecomer.operators."
    theirs = {name.removeprefix(prefix) for name in ours(modules) if name.startswith(prefix)}
    assert sorted(theirs - EVERYWHERE) == sorted(operators)


@pytest.mark.parametrize("module", ["parcels", "bucket"])
def test_a_worker_imports_no_pandas_before_it_has_rows(module: str) -> None:
    modules = imported(f"import latecomer.hosts.spark.{module}")

    assert modules & {"numba", "pandas"} == set()


def plan(operator: Operator) -> Plan:
    return Plan(Source(TIME), OneClock((0,)), "drop", (Stage(("key",), (operator,)),))


def imported(script: str, given: bytes = b"") -> set[str]:
    """Return all modules that a process has imported after it ran a script."""
    before = "import pickle, sys; from types import SimpleNamespace\n"
    if given:
        before += "from tests.support.memory_states import Handle\n"
    answer = subprocess.run(
        [sys.executable, "-c", f"{before}{script}\nprint(*sys.modules)"],
        input=given,
        capture_output=True,
        check=True,
        cwd=ROOT,
    )
    return {*answer.stdout.decode().split()}


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.split(".")[0] == "latecomer"}

"""`import latecomer` must stay cheap: no JVM bridge, no compiler, no pandas."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module", ["latecomer", "latecomer.runtime.session", "latecomer.runtime.java"]
)
def test_importing_brings_in_nothing_heavy(module: str) -> None:
    assert imported(module) & {"pyspark", "py4j", "numba", "pandas"} == set()


def test_what_spark_starts_for_a_stage_brings_in_no_compiler() -> None:
    modules = imported("latecomer.hosts.spark.bucket")

    assert "pyspark" in modules
    assert modules & {"numba", "pandas"} == set()


def imported(module: str) -> set[str]:
    """Return all modules that a process has that imports this one."""
    answer = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {*answer.stdout.split()}

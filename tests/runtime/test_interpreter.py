"""Spark's Python processes run in this interpreter, and import PySpark from its bytecode."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from latecomer.runtime import interpreter

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SHOW_PATH = "import sys; print(sys.executable, *sys.path)"


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)


def test_archives_of_pyspark_are_taken_off_the_path() -> None:
    variables = interpreter.environment("local[2]")
    archives = "/x/pyspark/python/lib/pyspark.zip:/x/pyspark/python/lib/py4j-1-src.zip"
    path = f"{archives}:/a place/of mine:/other.zip"

    ended = subprocess.run(
        [variables["PYSPARK_PYTHON"], "-c", SHOW_PATH],
        env={**os.environ, **variables, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )

    assert ended.stdout.startswith(f"{sys.executable}  /a place/of mine /other.zip ")
    assert "pyspark/python/lib" not in ended.stdout


def test_the_process_of_a_stateful_stage_prints_nothing(tmp_path: Path) -> None:
    name = "transform_with_state_driver_worker"
    (tmp_path / f"{name}.py").write_text("import sys; print('Starting'); sys.exit('broken')")
    variables = interpreter.environment("local[2]")

    ended = subprocess.run(
        [variables["PYSPARK_PYTHON"], "-m", name],
        env={**os.environ, **variables, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ended.stdout, ended.stderr) == ("", "broken\n")


def test_workers_import_the_package_that_is_installed(spark: SparkSession) -> None:
    import pyspark

    def imported_from(batches):  # noqa: ANN001, ANN202 - a function of Spark's
        import pyspark

        for batch in batches:
            yield batch.assign(name=pyspark.__file__, python=sys.executable)

    rows = spark.range(1).mapInPandas(imported_from, "id long, name string, python string")

    assert [(row.name, row.python) for row in rows.collect()] == [
        (pyspark.__file__, sys.executable)
    ]


def test_workers_are_forked_from_a_process_of_ours() -> None:
    forked_from = interpreter.settings("local[2]")["spark.python.daemon.module"]

    assert find_spec(forked_from) is not None


def test_a_choice_of_the_user_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")

    assert interpreter.environment("local[2]") == {"PYSPARK_PYTHON": "/opt/python"}
    assert interpreter.settings("local[2]") == {}


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://host"])
def test_on_other_machines_there_is_no_script_of_ours(master: str) -> None:
    assert interpreter.environment(master) == {"PYSPARK_PYTHON": sys.executable}
    assert interpreter.settings(master) == {}


def test_another_installation_of_spark_keeps_its_archives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")

    assert interpreter.environment("local[2]") == {"PYSPARK_PYTHON": sys.executable}

"""Latecomer works without PySpark, and reports it when a stream needs PySpark."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from latecomer.errors import MissingPackageError
from latecomer.hosts.spark.installed import check_packages, check_pyspark, check_release

ROOT = Path(__file__).parents[3]
WITHOUT = """
import sys
class Missing:
    def find_spec(name, path=None, target=None):
        if name in {names!r}:
            raise ModuleNotFoundError("No module named " + name, name=name)
sys.meta_path.insert(0, Missing)
"""
TABLE = """
import pyarrow as pa
rows = pa.table({"time": pa.array([3, 1, 2]), "key": ["a", "b", "a"]})
"""


@pytest.mark.parametrize("version", ["4.1.0", "4.3.0", "4.4.0.dev1", "17.3.2", "vendor"])
def test_supported_and_newer_releases_are_accepted(version: str) -> None:
    check_release(version)


@pytest.mark.parametrize("version", ["3.5.6", "4.0.1"])
def test_older_releases_are_refused(version: str) -> None:
    with pytest.raises(MissingPackageError, match=rf"PySpark 4.1 or later; {version}"):
        check_release(version)


def test_no_package_is_missing_here() -> None:
    check_pyspark()
    check_packages()


@pytest.mark.parametrize(
    ("module", "package"), [("pandas", "pandas"), ("google.protobuf", "protobuf")]
)
def test_packages_that_pyspark_needs_are_named(
    module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingPackageError, match=rf"needs {package} .*\n.*latecomer\[spark\]"):
        check_packages()


@pytest.mark.parametrize(
    "script",
    ["lc.session()", "lc.disordered(rows, time='time', unit='s')", "lc.table('sales')"],
)
def test_without_pyspark_a_stream_says_what_to_install(script: str) -> None:
    answer = run(f"{TABLE}import latecomer as lc\n{script}", "pyspark", "py4j")

    assert answer.returncode == 1
    wrong, hint = answer.stderr.splitlines()[-2:]
    assert wrong.endswith("MissingPackageError: streams need PySpark, which is not installed here.")
    assert hint.startswith('Hint: pip install "latecomer[spark]"; or use a Python in which')


def test_without_pyspark_pandas_and_protobuf_files_can_be_profiled_and_disordered(
    tmp_path: Path,
) -> None:
    answer = run(
        TABLE + "import pyarrow.parquet as pq\n"
        f"pq.write_table(rows, {str(tmp_path / 'rows.parquet')!r})\n"
        "import latecomer as lc\n"
        "lc.inject_disorder(rows, time='time', unit='s', fraction=0.5, delay='constant:2s')\n"
        "from latecomer.cli import main\n"
        f"sys.argv = ['latecomer', 'profile', {str(tmp_path / 'rows.parquet')!r}, "
        "'--time', 'time', '--unit', 's']\n"
        "main()",
        *("pyspark", "py4j", "pandas", "google.protobuf"),
    )

    assert "3 rows" in answer.stdout, answer.stderr


def test_the_package_requires_no_spark() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    names = {"pyspark", "pandas", "protobuf"}
    assert not [line for line in project["dependencies"] if line.split(">")[0] in names]
    assert {line.split(">")[0] for line in project["optional-dependencies"]["spark"]} == names


def run(script: str, *missing: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT.format(names=missing) + script],
        capture_output=True,
        text=True,
        check=False,
    )

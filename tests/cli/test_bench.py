from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from latecomer.cli import app
from latecomer.cli.bench import checkout
from latecomer.errors import MissingPackageError
from tests.support.commands import latecomer

if TYPE_CHECKING:
    from pathlib import Path


def test_bench_needs_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(MissingPackageError, match="is not in a checkout"):
        checkout(tmp_path / "lib/site-packages/latecomer/cli/bench.py")


def test_bench_lists_the_benchmarks_of_this_checkout(capfd: pytest.CaptureFixture[str]) -> None:
    answer = latecomer("bench", "--list")

    assert answer.returncode == 0
    # Another process lists them.
    assert "Table I of the Impatience paper" in capfd.readouterr().out


def test_a_checkout_is_found_from_the_package_and_from_any_folder_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for root in ("one", "other"):
        book = tmp_path / root / "benchmarks/book/__main__.py"
        book.parent.mkdir(parents=True)
        book.touch()
    (tmp_path / "other/docs").mkdir()
    monkeypatch.chdir(tmp_path / "other/docs")

    assert checkout(tmp_path / "one/src/latecomer/cli/bench.py") == tmp_path / "one"
    assert checkout(tmp_path / "lib/site-packages/latecomer/cli/bench.py") == tmp_path / "other"


def test_bench_runs_the_book_with_its_arguments_and_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = tmp_path / "benchmarks/book/__main__.py"
    book.parent.mkdir(parents=True)
    book.write_text(
        "import sys, pathlib; pathlib.Path('asked').write_text(' '.join(sys.argv[1:])); sys.exit(3)"
    )
    (tmp_path / "benchmarks/__init__.py").touch()
    # The package has a function with the name of this module.
    module = import_module("latecomer.cli.bench")
    monkeypatch.setattr(module, "checkout", lambda: tmp_path)

    answer = CliRunner().invoke(app, ["bench", "sort", "waits", "--quick", "--json"])

    assert answer.exit_code == 3
    assert (tmp_path / "asked").read_text() == "sort waits --quick --json"

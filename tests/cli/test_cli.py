from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

from latecomer import __version__, demo
from latecomer.cli import main
from latecomer.errors import MissingPackageError
from tests.support.commands import latecomer


def test_help_lists_the_commands() -> None:
    answer = latecomer("--help")

    assert answer.returncode == 0
    assert "Usage: latecomer [OPTIONS] COMMAND" in answer.stdout
    assert "demo" in answer.stdout


def test_help_brings_in_neither_spark_nor_numba() -> None:
    program = (
        "import sys; from latecomer.cli import main; sys.argv = ['latecomer', '--help']\n"
        "try: main()\n"
        "finally: print(*sorted({'pyspark', 'py4j', 'numba'} & {*sys.modules}), file=sys.stderr)"
    )

    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "Usage" in answer.stdout
    assert answer.stderr.split() == []


def test_the_version_is_that_of_the_package() -> None:
    answer = latecomer("--version")

    assert answer == (0, f"latecomer {__version__}\n", "")
    assert version("latecomer") == __version__


def test_the_package_is_the_command_too() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "latecomer", "--version"], capture_output=True, text=True, check=True
    )

    assert answer.stdout == f"latecomer {__version__}\n"


def test_an_unknown_command_is_named_and_refused() -> None:
    answer = latecomer("dmeo")

    assert answer.returncode == 2
    assert "No such command 'dmeo'" in answer.stderr


def test_a_mistake_is_reported_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_console: object, **_options: object) -> None:
        raise MissingPackageError('no flights.\nHint: pip install "latecomer[demo]".')

    monkeypatch.setattr(demo, "run", run)
    monkeypatch.setattr(sys, "argv", ["latecomer", "demo"])
    # typer installs a hook here, which must be gone after the test.
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)

    with pytest.raises(SystemExit) as exit_:
        main()

    assert exit_.value.code == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == 'latecomer: no flights.\nHint: pip install "latecomer[demo]".\n'

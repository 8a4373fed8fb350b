from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from latecomer import demo
from latecomer.cli import app, main
from tests.support.commands import latecomer


def test_the_demo_gets_its_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: dict[str, object] = {}
    monkeypatch.setattr(demo, "run", lambda _console, **options: told.update(options))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    options = ["--hours", "48", "--every", "30 minutes", "--html", "out.html", "--serve"]
    monkeypatch.setattr(sys, "argv", ["latecomer", "demo", *options])

    with pytest.raises(SystemExit) as exit_:
        main()

    assert exit_.value.code == 0
    assert told == {"hours": 48, "every": "30 minutes", "html": Path("out.html"), "serve": True}


def test_the_demo_refuses_micro_batches_without_a_length_before_it_starts_spark() -> None:
    answer = latecomer("demo", "--every", "0 seconds")

    assert answer.returncode == 1
    assert answer.stderr == "latecomer: every must be longer than 0 seconds; got '0 seconds'.\n"


def test_a_demo_shorter_than_its_longest_wait_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "run", None)

    answer = CliRunner().invoke(app, ["demo", "--hours", "5"])

    assert answer.exit_code == 2
    assert "6" in answer.output

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from latecomer.cli import app, watch
from latecomer.errors import OptionError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    (tmp_path / "orders" / "offsets").mkdir(parents=True)
    return str(tmp_path / "orders")


def test_a_script_gets_the_statuses_as_json(checkpoint: str) -> None:
    answer = CliRunner().invoke(app, ["watch", checkpoint, "--once", "--json"])

    assert [status["query"] for status in json.loads(answer.stdout)] == ["orders"]


def test_once_prints_the_view_and_ends(checkpoint: str) -> None:
    answer = CliRunner().invoke(app, ["watch", checkpoint, "--once"])

    assert "orders" in answer.stdout
    assert "No rows have come yet." in answer.stdout


def test_what_cannot_be_read_is_an_error(checkpoint: str) -> None:
    nowhere = CliRunner().invoke(app, ["watch", "http://127.0.0.1:9/metrics", "--once"])
    assert isinstance(nowhere.exception, OptionError)
    assert "cannot be read" in str(nowhere.exception)
    forever = CliRunner().invoke(app, ["watch", checkpoint, "--json"])
    assert isinstance(forever.exception, OptionError)


def test_it_looks_again_until_ctrl_c(checkpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            raise KeyboardInterrupt

    module = sys.modules[watch.__module__]
    monkeypatch.setattr(module.time, "sleep", nap)
    answer = CliRunner().invoke(app, ["watch", checkpoint, "--every", "0.5"])

    assert (answer.exit_code, naps) == (0, [0.5, 0.5, 0.5])
    assert "orders" in answer.stdout

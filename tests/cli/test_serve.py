from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING
from urllib.request import urlopen

from typer.testing import CliRunner

from latecomer.cli import app, serve

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_page_is_served_until_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "orders" / "offsets").mkdir(parents=True)
    seen: list[str] = []
    said: list[str] = []

    def wait() -> None:
        url = re.findall(r"http://\S+", said[0])[0]
        with urlopen(url, timeout=60) as answer:  # noqa: S310  our own server
            seen.append(answer.read().decode())

    module = sys.modules[serve.__module__]
    monkeypatch.setattr(module.typer, "echo", said.append)
    monkeypatch.setattr("latecomer.live.server.wait_for_the_user", wait)
    answer = CliRunner().invoke(app, ["serve", str(tmp_path / "orders")])

    assert answer.exit_code == 0, answer.exception
    assert said[0].startswith("The page is at http://127.0.0.1:")
    assert said[1:] == ["Stopped."]
    assert "<title>orders, live</title>" in seen[0]

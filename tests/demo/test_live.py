from __future__ import annotations

import re
from io import StringIO
from types import SimpleNamespace
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest
from rich.console import Console

from latecomer.demo import live
from latecomer.demo.live import follow, served

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Query:
    """A query that advances by a step each time its state is read."""

    def __init__(self, rows: Sequence[int], error: Exception | None = None) -> None:
        self._rows, self._error = rows, error
        self.at, self.is_stopped = 0, False

    @property
    def isActive(self) -> bool:  # noqa: N802
        return self.at < len(self._rows)

    def status(self) -> SimpleNamespace:
        self.at += 1
        return SimpleNamespace(rows=SimpleNamespace(read=sum(self._rows[: self.at]) or None))

    def awaitTermination(self) -> None:  # noqa: N802
        if self._error:
            raise self._error

    def stop(self) -> None:
        self.is_stopped = True


@pytest.fixture(autouse=True)
def _no_naps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live.time, "sleep", lambda _seconds: None)


def test_the_rows_of_all_micro_batches_are_counted() -> None:
    query, screen = Query([400, 500, 100]), StringIO()

    answers = iter([False, True])
    follow(query, Console(file=screen, width=80), 1_000, lambda: next(answers))  # type: ignore[arg-type]

    assert "1,000 of 1,000 flights" in screen.getvalue()
    assert query.is_stopped


def test_a_query_that_fails_is_stopped_and_its_error_raised() -> None:
    query = Query([1], RuntimeError("out of memory"))

    with pytest.raises(RuntimeError, match="out of memory"):
        follow(query, Console(file=StringIO()), 1_000, lambda: False)  # type: ignore[arg-type]

    assert query.is_stopped


def test_a_live_page_is_served_while_it_runs_and_until_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    status = SimpleNamespace(to_dict=lambda: {"query": "departures"})
    monkeypatch.setattr("latecomer.api.dashboard.status", lambda _query: status)
    seen: list[str] = []

    def look() -> None:
        url = re.findall(r"http://\S+", screen.getvalue())[0]
        with urlopen(url, timeout=60) as answer:  # noqa: S310  our own server
            seen.append(answer.read().decode())

    monkeypatch.setattr(live, "wait_for_the_user", look)
    screen = StringIO()
    with served(object(), Console(file=screen, width=80), tmp_path):  # type: ignore[arg-type]
        look()

    assert len(seen) == 2
    assert "<title>departures, live</title>" in seen[0]
    assert "until Ctrl-C" in screen.getvalue()

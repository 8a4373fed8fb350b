from __future__ import annotations

from io import StringIO
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from latecomer.demo import live
from latecomer.demo.live import follow

if TYPE_CHECKING:
    from collections.abc import Sequence


class Query:
    """A query that goes on by a step each time it is asked, and remembers the last step only."""

    def __init__(self, rows: Sequence[int], error: Exception | None = None) -> None:
        self._rows, self._error = rows, error
        self.at, self.is_stopped = 0, False

    @property
    def isActive(self) -> bool:  # noqa: N802
        return self.at < len(self._rows)

    @property
    def recentProgress(self) -> list[SimpleNamespace]:  # noqa: N802
        last = min(self.at, len(self._rows) - 1)
        self.at += 1
        return [SimpleNamespace(batchId=last, numInputRows=self._rows[last])]

    def awaitTermination(self) -> None:  # noqa: N802
        if self._error:
            raise self._error

    def stop(self) -> None:
        self.is_stopped = True


@pytest.fixture(autouse=True)
def _no_naps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live.time, "sleep", lambda _seconds: None)


def test_rows_are_counted_also_of_micro_batches_that_spark_has_forgotten() -> None:
    query, screen = Query([400, 500, 100]), StringIO()

    follow(query, Console(file=screen, width=80), 1_000)  # type: ignore[arg-type]

    assert "1,000 of 1,000 flights" in screen.getvalue()
    assert query.is_stopped


def test_a_query_that_fails_is_stopped_and_its_error_raised() -> None:
    query = Query([1], RuntimeError("out of memory"))

    with pytest.raises(RuntimeError, match="out of memory"):
        follow(query, Console(file=StringIO()), 1_000)  # type: ignore[arg-type]

    assert query.is_stopped

"""Points at which a real query can be ended: before and after each effect of Latecomer."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from latecomer.hosts.spark import flush, sinks
from latecomer.hosts.spark.driver import state_files
from latecomer.hosts.spark.durable import ledger, outputs, parquet
from latecomer.hosts.spark.upsert import files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

POINTS: tuple[tuple[Any, str], ...] = (
    (ledger.Ledger, "add"),
    (ledger, "write_whole"),
    (parquet, "write_whole"),
    (outputs, "write"),
    (outputs, "clean"),
    (state_files.StateFiles, "_write"),
    (state_files.StateFiles, "_clean"),
    (files, "write_rows"),
    (files, "write_manifest"),
    (flush, "_mark"),
    (flush, "check_all_read"),
    (sinks, "_write_present"),
)
"""Functions that change something outside the process, or run between two that do."""


class Killed(RuntimeError):  # noqa: N818 - nothing has gone wrong
    """Ends the query at an effect."""


class FailPoint:
    """Counts effects, and calls an action at one of them."""

    def __init__(self, at: int, action: Callable[[str], None]) -> None:
        """Call the action at number `at`; each effect has two numbers, before and after it."""
        self.at, self.action, self.passed = at, action, 0
        self.hit: str | None = None

    def passes(self, name: str) -> None:
        self.passed += 1
        if self.passed == self.at:
            self.hit = name
            self.action(name)

    @contextmanager
    def installed(self) -> Iterator[FailPoint]:
        """Watch all effects."""
        with ExitStack() as stack:
            for owner, name in POINTS:
                stack.enter_context(patch.object(owner, name, self._watched(getattr(owner, name))))
            yield self

    def _watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            self.passes(f"before {function.__qualname__}")
            found = function(*args, **kwargs)
            self.passes(f"after {function.__qualname__}")
            return found

        return watched


def end_query(name: str) -> None:
    """End a query as if its driver had died: nothing after this point runs.

    Raises:
        Killed: Always.
    """
    raise Killed(name)

"""Show the progress of a query, in the terminal and on a page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from latecomer.api.dashboard import dashboard
from latecomer.api.query import Query
from latecomer.live.server import wait_for_the_user

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console


def follow(query: Query, console: Console, rows: int, has_answer: Callable[[], bool]) -> float:
    """Show the number of rows read until the query ends; raise if it fails.

    Returns:
        The time of the first answer that could be read, by `time.perf_counter`; if there was none,
        the time at which the query ended.
    """
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} flights"),
        TimeElapsedColumn(),
    )
    first = None

    def rows_in() -> int:
        # Spark's own count is twice as large in micro-batches that are read again for late rows.
        return query.status().rows.read or 0

    try:
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("Counting", total=rows)
            while query.isActive:
                if first is None and has_answer():
                    first = time.perf_counter()
                progress.update(task, completed=rows_in())
                time.sleep(0.2 if first else 0.05)
            progress.update(task, completed=rows_in())
        query.awaitTermination()
    finally:
        query.stop()
    return first or time.perf_counter()


@contextmanager
def served(query: Query, console: Console, answers: Path) -> Iterator[None]:
    """Serve a live page about a query, while it runs and after it has ended, until Ctrl-C."""
    with dashboard(query, answers=answers, value="departures") as page:
        console.print(f"The live page is at {page.url}\n", highlight=False, soft_wrap=True)
        yield
        console.print(f"\nThe live page stays at {page.url} until Ctrl-C.", highlight=False)
        wait_for_the_user()

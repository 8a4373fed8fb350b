"""Show how far a query has come."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from rich.console import Console

    from latecomer.api.query import Query


def follow(query: Query, console: Console, rows: int) -> None:
    """Show how many rows have gone in, until all have; raise if the query fails."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} flights"),
        TimeElapsedColumn(),
    )
    seen: dict[int, int] = {}

    def rows_in() -> int:
        # Spark forgets all but the last 100 micro-batches.
        seen.update((batch.batchId, batch.numInputRows) for batch in query.recentProgress)
        return sum(seen.values())

    try:
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("Counting", total=rows)
            while query.isActive:
                progress.update(task, completed=rows_in())
                time.sleep(0.2)
            progress.update(task, completed=rows_in())
        query.awaitTermination()
    finally:
        query.stop()

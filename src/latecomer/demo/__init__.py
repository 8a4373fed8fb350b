"""`latecomer demo`: sort a year of real flights that were reported out of order.

It does what a user would do, with nothing left out: the flights lie in a file, "latecomer.replay"
streams them as they were reported, `sort` puts them in order of departure, one query writes both
outputs. Then what it wrote is read back and checked, row for row.
"""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from latecomer.demo.flights import read_flights
from latecomer.demo.outcome import Outcome
from latecomer.demo.quiet import without_small_talk
from latecomer.demo.summary import show
from latecomer.session import session
from latecomer.stream import disordered
from latecomer.time import parse_duration

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery
    from rich.console import Console

WAIT = "4 hours"
"""Long enough for most flights; those to the west coast are in the air for longer."""


def run(console: Console, *, days: int | None = None, batches: int = 24) -> None:
    """Stream the flights through a sort, and print how it went.

    Args:
        console: Where to print.
        days: Only the flights that landed in the first so many days.
        batches: Into how many micro-batches to cut them.

    Raises:
        MissingPackageError: The package with the flights is not installed.
    """
    with console.status("Reading the flights of 2013"):
        flights = _first(days, read_flights())
    with console.status("Starting Spark"), without_small_talk():
        spark = session("latecomer-demo")
    with TemporaryDirectory(prefix="latecomer-demo-", ignore_cleanup_errors=True) as directory:
        here = Path(directory)
        pq.write_table(flights, here / "landed.parquet")
        started = time.perf_counter()
        query = _start(spark, here, -(-flights.num_rows // batches))
        _follow(query, console, flights.num_rows)
        seconds = time.perf_counter() - started
        wait = parse_duration(WAIT, "wait")
        outcome = Outcome.read(flights, here / "ready", here / "late", wait)
    show(console, outcome, f"Sorted in {seconds:.1f} s, in {batches} micro-batches.")


def _first(days: int | None, flights: pa.Table) -> pa.Table:
    if days is None:
        return flights
    until = flights["landed"][0].as_py() + timedelta(days=days)
    return flights.filter(pc.less(flights["landed"], until))


def _start(spark: SparkSession, here: Path, rows: int) -> StreamingQuery:
    stream = (
        spark.readStream.format("latecomer.replay")
        .options(arrival="landed", rowsPerBatch=rows)
        .load(str(here / "landed.parquet"))
    )
    return (
        disordered(stream, time="departed", key="origin", arrival="landed")
        .sort(wait=WAIT)
        .start(
            {"ready": here / "ready", "late": here / "late"},
            checkpoint=str(here / "checkpoint"),
            trigger={"availableNow": True},
        )
    )


def _follow(query: StreamingQuery, console: Console, rows: int) -> None:
    """Show how many rows have gone in, until all have; raise if the query fails."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} rows"),
        TimeElapsedColumn(),
    )
    try:
        with Progress(*columns, console=console) as progress:
            task = progress.add_task(f"Sorting, wait {WAIT}", total=rows)
            while query.isActive:
                progress.update(task, completed=_rows_in(query))
                time.sleep(0.2)
            progress.update(task, completed=_rows_in(query))
        query.awaitTermination()
    finally:
        query.stop()


def _rows_in(query: StreamingQuery) -> int:
    return sum(batch.numInputRows for batch in query.recentProgress)

"""`latecomer demo`: departures per hour and airport, from real flights reported out of order.

The flights are in a file, "latecomer.replay" streams them as they were reported, and one query
(`latecomer.demo.departures`) counts them after three waits. Then its output is read back, checked,
printed and drawn.

**A stretch of the year, in small micro-batches.** A row is late, or an answer early, only relative
to earlier micro-batches. In micro-batches much longer than the waits, nearly all flights of a
window would come together, and there would be nothing to see. So the demo has days, not months. A
micro-batch takes Spark about half a second, whatever its size. So there are three a day, and not
one per hour.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from latecomer.api.queries import recall
from latecomer.api.query import Query
from latecomer.demo import departures
from latecomer.demo.checks import check, check_recall
from latecomer.demo.flights import read_flights, reported
from latecomer.demo.live import follow, served
from latecomer.demo.outcome import Outcome, has_rows
from latecomer.demo.picture import picture
from latecomer.demo.summary import show
from latecomer.generate.replay.rhythm import choose
from latecomer.runtime.session import is_running, session

if TYPE_CHECKING:
    from rich.console import Console


SINCE = datetime(2013, 7, 28, 8, tzinfo=UTC)
"""Start of the demo: four in the morning in New York, when hardly any flight is in the air."""
SMALL = {
    # Code that runs for half a minute is not worth the compiler's best effort.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.enabled": "false",
    # Spark's usual way to write a checkpoint starts a process whenever it looks at a file.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
}
"""Settings for little data: with them Spark starts faster, and runs short queries faster."""


def run(console: Console, *, hours: int, every: str, html: Path, serve: bool = False) -> None:
    """Count departures per hour and airport from some hours of reports, and print the result.

    There is a micro-batch for each `every` of that time. With `serve` a live page is served while
    the query runs, and then until Ctrl-C.

    Raises:
        MissingPackageError: The package with the flights is not installed.
        DurationError: `every` is unreadable, or 0.
    """
    choose(span=every, names=("speed", "rows", "every", "max_rows"))
    with console.status("Reading the flights of 2013"):
        flights = reported(read_flights(), SINCE, hours)
    _announce(console, flights, hours, every)
    with console.status("Starting Spark"):
        spark = session("latecomer-demo", config=None if is_running() else SMALL)
    with TemporaryDirectory(prefix="latecomer-demo-", ignore_cleanup_errors=True) as directory:
        here = Path(directory)
        pq.write_table(flights, here / "landed.parquet")
        started = time.perf_counter()
        query = departures.start(spark, here, every)
        with served(query, console, here / "ready") if serve else nullcontext():
            first = follow(query, console, flights.num_rows, lambda: has_rows(here / "ready"))
            done = time.perf_counter()
            outcome = Outcome.read(flights, here / "ready", here / "late")
            check(outcome)
            check_recall(outcome, list(recall(query).values()), _remembered(query))
            console.print()
            show(console, outcome)
            batches = max(_remembered(query)) + 1
            seconds = done - started
            console.print(
                f"\nStreamed in {seconds:.1f} s, in {batches} micro-batches: the first answer "
                f"after {first - started:.1f} s,\nand {flights.num_rows / seconds:,.0f} flights a "
                f"second in all. {_drawn(outcome, html)}",
                highlight=False,
                soft_wrap=True,
            )


def _announce(console: Console, flights: pa.Table, hours: int, every: str) -> None:
    days, rest = divmod(hours, 24)
    span = f"{days} days" if days > 1 and not rest else f"{hours} hours"
    lines = (
        f"{flights.num_rows:,} real flights from New York: those of the {span} from",
        f"{SINCE:%B %d %Y, %H:%M} UTC on, streamed as they landed, {every} at a time.",
        "",
        *(f"    {line}" for line in departures.ASKED),
        "",
    )
    console.print(*lines, sep="\n", highlight=False, markup=False)


def _remembered(query: Query) -> set[int]:
    """Return the numbers of the micro-batches that Spark remembers: the last 100."""
    return {progress.batchId for progress in query.recentProgress}


def _drawn(outcome: Outcome, html: Path) -> str:
    """Write the picture, and return a sentence on it; an error is reported, not raised."""
    try:
        html.write_text(picture(outcome), encoding="utf-8")
    except OSError as error:
        return f"No picture: {error}."
    return f"The picture is in {html}."

"""Tables of other pages that are written from results, so that no number is copied by hand.

A page marks the place of such a table, and `make bench` replaces the text between the marks:

    <!-- bench: joins -->
    | ... |
    <!-- end of bench -->

Numbers in sentences are written by `benchmarks.book.claims`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from benchmarks.book.results import Results
from benchmarks.book.stamp import ROOT

HOUR = 3_600
_MARKED = re.compile(r"(<!-- bench: ([a-z_]+) -->\n).*?(<!-- end of bench -->)", re.DOTALL)

STREAMS = {
    "synthetic": "synthetic",
    "changing": "synthetic, changing",
    "backlogs": "synthetic, backlogs",
    "cloud": "cloud log",
    "long cloud": "cloud log, four times as long",
    "android": "Android log",
    "flights": "flights",
}
"""The streams of `benchmarks.recall`, in words."""

JOINS = {
    ("latecomer", ""): "Latecomer on Spark",
    ("Spark", "state in memory"): "Spark's stream-stream join, state in memory",
    ("Spark", "state in RocksDB"): "Spark's stream-stream join, state in RocksDB",
    ("Spark", "without state"): "Spark without a join: the rows only pass through Python",
    ("Flink", ""): "Flink, interval join",
    ("Pathway", ""): "Pathway, interval join",
}

STEPS = {
    ("changelog", "change"): "`changelog`, change from the row before",
    ("changelog", "total"): "`changelog`, running total",
    ("barrier", "change"): "`barrier`, change",
    ("barrier", "total"): "`barrier`, total",
    ("buffer", "change"): "one buffer and one clock, change",
    ("buffer", "total"): "one buffer and one clock, total",
    ("buffers", "change"): "a buffer and a clock for each step, change",
    ("buffers", "total"): "a buffer and a clock for each step, total",
}


def recall(results: Results) -> Iterator[str]:
    """Return the waits for a recall, beside the best fixed ones."""
    yield from _head(
        "stream", "query", "asked", "had", "average wait", "best fixed wait", "longest delay"
    )
    for name, words in STREAMS.items():
        for line in results.lines("recall", stream=name):
            if line.get("within") is None:
                waits = (line[key] for key in ("average_wait", "best_fixed_wait", "longest_delay"))
                had = f"{line['settled']:.4f}"
                yield _row(words, line["query"], line["recall_asked"], had, *map(_long, waits))


def within(results: Results) -> Iterator[str]:
    """Return how many periods missed the recall, with and without a reserve."""
    short = "periods that fell short, without"
    yield from _head("stream", "asked", short, "with", "average wait, without", "with")
    for line in results.lines("recall", stream="flights"):
        if line.get("within") is not None:
            yield _row(
                "flights, each day",
                line["recall_asked"],
                f"{line['short_without']} of {line['periods']}",
                line["short"],
                _long(line["average_wait_without"]),
                _long(line["average_wait"]),
            )


def joins(results: Results) -> Iterator[str]:
    """Return the waits of window joins with each feedback."""
    yield from _head("", "recall", "default", "`paper`", "`none`", "moves")
    for data in ("D×3", "D×4", "match"):
        for asked in (0.9, 0.95, 0.99, 0.999):
            wanted = {"figure": "7", "data": data, "recall_asked": asked, "selectivity": "NonEqSel"}
            ways = [
                line
                for feedback in ("calibrated", "paper", "none")
                if (line := results.last("joins", **wanted, feedback=feedback)) is not None
            ]
            told = (f"{way['average_wait']:.2f} s, {way['nearly']:.1%}" for way in ways)
            ours, *others = (way["wait_moves"] for way in ways)
            moves = " / ".join([f"{ours:.2f}", *(f"{each:.1f}" for each in others)])
            cells = (text.replace("%", " %") for text in told)
            yield _row(data, asked, *cells, f"{moves} s")


def peers(results: Results) -> Iterator[str]:
    """Return the times of joins in other systems."""
    yield "| | seconds of work | seconds to start |"
    yield "| --- | ---: | ---: |"
    for (system, way), words in JOINS.items():
        line = results.last("peers", question="join", system=system, way=way)
        if line is not None and line.get("seconds") is not None:
            yield _row(words, line["seconds"], line["start_seconds"])


def steps(results: Results) -> Iterator[str]:
    """Return the cost of three optimistic steps, beside buffers."""
    yield from _head("", "first", "last", "rows out per row", "held", "rows per second")
    for (way, kind), words in STEPS.items():
        wanted = {"way": way, "kind": kind, "steps": 3, "out_of_order": 0.1}
        line = results.last("optimistic", benchmark="steps", **wanted)
        if line is not None:
            times = (f"{line[key]:.1f} s" for key in ("seconds_to_first", "seconds_to_last"))
            counts = (f"{line[key]:,}" for key in ("held", "rows_per_second"))
            yield _row(words, *times, f"{line['rows_out_per_row']:.1f}", *counts)


TABLES: dict[str, Callable[[Results], Iterable[str]]] = {
    "recall": recall,
    "within": within,
    "joins": joins,
    "peers": peers,
    "steps": steps,
}


def pages() -> list[Path]:
    """Return the pages that have such tables."""
    return [
        path for path in sorted((ROOT / "docs").glob("*.md")) if _MARKED.search(path.read_text())
    ]


def filled(text: str, results: Results) -> str:
    """Return a page with all marked tables updated."""

    def table(found: re.Match[str]) -> str:
        return "".join([found[1], *(f"{line}\n" for line in TABLES[found[2]](results)), found[3]])

    return _MARKED.sub(table, text)


def _head(*names: str) -> Iterator[str]:
    yield _row(*names).replace("|  |", "| |")
    yield _row(*("---" for _ in names))


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _long(seconds: float) -> str:
    """Return a wait with three digits, in seconds or hours."""
    if seconds >= HOUR:
        return f"{seconds / HOUR:.3g} h"
    return f"{round(seconds, 3):.3g} s"

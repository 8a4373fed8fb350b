"""Operators before the sort, and several waits: Fig. 9, Table II and Fig. 10 of Impatience."""

from collections.abc import Iterator

from benchmarks.book import papers
from benchmarks.book.parts import Part
from benchmarks.book.plots import Plot, bars
from benchmarks.book.results import Line, Results
from benchmarks.book.rows import Row, beside

OPERATORS = ("selection", "projection", "window")
CELLS = 60
"""Number of cells of Fig. 9: ten for each of three streams, with two distances of watermarks."""
QUERIES = ("Q1", "Q2", "Q3", "Q4")
LOGS = ("cloud", "android")
EVERY = "10,000"
"""Rows between two watermarks in the paper's Fig. 10."""


def waiting(results: Results) -> Iterator[Part]:
    yield figure_9(results)
    yield table_2(results)
    yield figure_10(results)


def figure_9(results: Results) -> Part:
    rows, plots = [], []
    for operator in OPERATORS:
        told = papers.PLANS[operator]
        for every in (10_000, 100_000):
            name = f"a watermark every {every:,} rows"
            cells = [
                line
                for line in results.lines("pushdown", every=every)
                if line["cell"].startswith(f"{operator} ")
            ]
            if not cells:
                rows.append(beside(told, f"{operator}, {name}", None, None, unit="×"))
                continue
            most, least = (pick(cells, key=lambda line: line["ratio"]) for pick in (max, min))
            what = f"{operator}, {name}: the most ({_where(most)})"
            rows.append(beside(told, what, most["ratio"], most, unit="×"))
            what = f"{operator}, {name}: the least ({_where(least)})"
            rows.append(Row(what, least["ratio"], 1.0, "×", line=least, place="no gain"))
    cells = results.lines("pushdown", every=10_000)
    groups = {
        stream: {line["cell"]: line["ratio"] for line in cells if line["stream"] == stream}
        for stream in dict.fromkeys(line["stream"] for line in cells)
    }
    for stream, group in groups.items():
        shown = {name: {"speed-up": ratio} for name, ratio in group.items()}
        title = f"What is saved by doing it before the sort: {stream} stream"
        plots.append(bars(f"pushdown-{stream}", title, shown, "×"))
    words = (
        "The time with the sort first, divided by the time with the sort last. Both include the "
        "operator itself. The paper's operators mark rows in a bitmap; ours copy the rows that "
        "they keep."
    )
    measured = sum("ratio" in line.values for line in results.lines("pushdown"))
    if 0 < measured < CELLS:
        words += f" **Only {measured} of {CELLS} cells are measured.**"
    return Part(
        "Fig. 9: selection, projection and windows before the sort",
        "pushdown",
        words,
        tuple(rows),
        plots=tuple(plots),
    )


def _where(line: Line) -> str:
    return f"{line['stream']}, {line['cell'].split(' ', 1)[1]}"


def table_2(results: Results) -> Part:
    rows = []
    for (log, wait), told in papers.COMPLETENESS.items():
        line = results.last("waits", cell=f"table2 {log} {wait}")
        key = "percent_in_time_by_row"
        if line is None:
            # The logs are measured for Table I too, by the same rule.
            line, key = results.last("simulated_logs", log=log), f"percent_in_time.{wait}"
        ours = line[key] if line else None
        what = f"{log} log, wait {wait}"
        rows.append(beside(told, what, ours, line, unit="%", better="same"))
    words = (
        "The share of the rows that are not behind the watermark, by the paper's rule, with a "
        "clock that every row moves."
    )
    return Part("Table II: completeness after each wait", "waits", words, tuple(rows))


def figure_10(results: Results) -> Part:
    rows: list[Row] = []
    for log in LOGS:
        for query in QUERIES:
            line = results.last("waits", cell=f"local {log} {query} every {EVERY}")
            rows += _compared(log, query, line)
    words = (
        "Three waits in one pass. `basic` sorts once for each wait and runs the query on each "
        "result; the paper's MaxLatency is one sort with the longest wait. State is what is held "
        "between micro-batches. Ours holds counts, not events, so it cannot be compared with the "
        "paper's, which includes its runtime. A micro-batch has 10,000 rows, as in the paper; at "
        "this size calls from Python are a large part of the time."
    )
    return Part(
        "Fig. 10: several waits at once",
        "waits",
        words,
        tuple(rows),
        plots=tuple(_methods(results)),
    )


def _compared(log: str, query: str, line: Line | None) -> Iterator[Row]:
    for name, key, told in (
        ("throughput over basic", "over_basic", papers.OVER_BASIC[log, query]),
        ("state below basic", "state_under_basic", papers.STATE_UNDER_BASIC[log, query]),
        ("throughput over the longest wait alone", "over_longest_sorted", papers.OVER_SORTED[log]),
    ):
        ours = line.get(key) if line else None
        yield beside(told, f"{log} log, {query}: {name}", ours, line, unit="×")


def _methods(results: Results) -> Iterator[Plot]:
    shown = {"several waits": "ours", "basic": "basic", "longest, sorted": "longest wait alone"}
    for log in LOGS:
        groups = {}
        for query in QUERIES:
            if line := results.last("waits", cell=f"local {log} {query} every {EVERY}"):
                speeds = line["rows_per_second"]
                groups[query] = {name: speeds[key] / 1e6 for key, name in shown.items()}
        if groups:
            title = f"Several waits on the {log} log, million rows per second"
            yield bars(f"waits-{log}", title, groups, "M/s")

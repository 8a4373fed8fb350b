"""Impatience sort: Table I and Figs. 5, 7 and 8."""

from collections.abc import Iterator

from benchmarks.book import papers
from benchmarks.book.parts import Part
from benchmarks.book.plots import Plot, bars, curves
from benchmarks.book.results import Line, Results
from benchmarks.book.rows import Row, beside

LOGS = ("cloud", "android")
STREAMS = ("synthetic", *LOGS)
PAPERS_OWN = "paper"
"""The competitors of `benchmarks.sort` that are the paper's algorithm, event by event."""


def sorting(results: Results) -> Iterator[Part]:
    yield table_1(results)
    yield figure_5(results)
    yield figure_7(results)
    yield figure_8(results)


def table_1(results: Results) -> Part:
    rows = []
    for (log, measure), told in papers.TABLE_1.items():
        line = results.last("simulated_logs", log=log)
        ours = line[measure] if line else None
        rows.append(beside(told, f"{log} log, {measure}", ours, line, better="same"))
    words = (
        "The paper's logs are not public. Ours are simulated from a seed, with the same kind of "
        "disorder. Everything else in this section is measured on them."
    )
    return Part("Table I: disorder of the two logs", "simulated_logs", words, tuple(rows))


def figure_5(results: Results) -> Part:
    line = results.last("sort", cell="runs cloud")
    told = papers.TABLE_1["cloud", "interleaved"]
    rows: list[Row] = []
    plots: list[Plot] = []
    if line:
        end = line["patience"][-1]
        rows.append(beside(told, "runs of Patience sort in the end", end, line, better="same"))
        for wait in ("1 second", "1 minute"):
            name = f"runs of Impatience sort in the end, wait {wait}"
            rows.append(Row(name, line[f"impatience, {wait}"][-1], line=line))
        shown = {"Patience sort": "patience"}
        shown |= {
            f"Impatience sort, {wait}": f"impatience, {wait}" for wait in ("1 second", "1 minute")
        }
        found = {
            name: [(10.0 * (n + 1), runs) for n, runs in enumerate(line[key])]
            for name, key in shown.items()
        }
        title = "Runs while the cloud log is sorted"
        plots.append(curves("runs", title, found, ("% of the events", "runs")))
    words = (
        "The paper draws the curves and gives no numbers, except that Patience sort ends with as "
        "many runs as are interleaved in the log (Table I). There is a watermark every 10,000 "
        "events, after which Impatience sort drops runs that are empty."
    )
    return Part("Fig. 5: runs over time", "sort", words, tuple(rows), plots=tuple(plots))


def figure_7(results: Results) -> Part:
    rows = []
    lines = [line for line in _lasts(results) if line["cell"].startswith("offline ")]
    for log in LOGS:
        line, told = results.last("sort", cell=f"offline {log}"), papers.OFFLINE[log]
        name = f"{log} log, over the fastest competitor"
        name += f" ({line['fastest']})" if line else ""
        rows.append(beside(told, name, line["ratio"] if line else None, line, unit="×"))
    if synthetic := [line for line in lines if "synthetic" in line["cell"]]:
        for word, pick in (("least", min), ("most", max)):
            line = pick(synthetic, key=lambda each: each["ratio"])
            name = (
                f"{line['cell'].removeprefix('offline ')}, the {word} over its fastest competitor"
            )
            rows.append(Row(name, line["ratio"], unit="×", line=line))
    for name, told in (
        ("Huffman merge", papers.HUFFMAN),
        ("speculative run selection", papers.SPECULATION),
    ):
        gains = {_gain(line, name): line for line in lines}
        if gains:
            most = max(gains)
            what = f"our port of the paper's sort, with {name} over without"
            rows.append(beside(told, what, most, gains[most], unit="×"))
    words = (
        "All rows are sorted at once. `ours` is the operator that queries run, `Sort`. It returns "
        "Arrow tables with a time, a position and four int32 columns, and competitors return the "
        "same columns. The paper's competitors are Quicksort, Timsort and Heapsort; ours are "
        "NumPy's two sorts, Polars, Arrow and a heap. `paper` is our port of the paper's "
        "algorithm, event by event."
    )
    return Part("Fig. 7: sorting offline", "sort", words, tuple(rows), plots=tuple(_offline(lines)))


def _gain(line: Line, without: str) -> float:
    speeds = line["competitors_ns_per_row"]
    return round(speeds[f"paper without {without}"] / speeds[PAPERS_OWN], 2)


def _offline(lines: list[Line]) -> Iterator[Plot]:
    cells = {line["cell"].removeprefix("offline "): line for line in lines}
    shown = ("numpy default", "numpy stable", "polars", "arrow", "heap", PAPERS_OWN)
    groups = {
        f"{log} log": {"ours": 1e3 / cells[log]["ns_per_row"]}
        | {name: 1e3 / cells[log]["competitors_ns_per_row"][name] for name in shown}
        for log in LOGS
        if log in cells
    }
    if groups:
        yield bars("offline", "Events sorted offline, millions per second", groups, "M/s")
    for name, label, key in (
        ("offline-percent", "% of the events are disordered", "synthetic {} % by 64"),
        ("offline-amount", "by so many events (standard deviation)", "synthetic 30 % by {}"),
    ):
        values = (1, 3, 10, 30, 100) if "percent" in name else (1, 8, 64, 512, 4_096)
        found: dict[str, list[tuple[float, float]]] = {}
        for value in values:
            if line := cells.get(key.format(value)):
                found.setdefault("ours", []).append((value, 1e3 / line["ns_per_row"]))
                for each in ("numpy stable", "numpy default", "heap", PAPERS_OWN):
                    speed = 1e3 / line["competitors_ns_per_row"][each]
                    found.setdefault(each, []).append((value, speed))
        if found:
            title = "Events of the synthetic stream sorted offline, millions per second"
            yield curves(name, title, found, (label, "million events/s"), is_log=(True, False))


def figure_8(results: Results) -> Part:
    rows, plots = [], []
    lines = [line for line in _lasts(results) if line["cell"].startswith("online ")]
    for stream in STREAMS:
        cells = [line for line in lines if line["cell"].startswith(f"online {stream} ")]
        for word, pick, told in zip(
            ("least", "most"), (min, max), papers.ONLINE[stream], strict=True
        ):
            line = pick(cells, key=lambda each: each["ratio"]) if cells else None
            name = f"{stream}, the {word} over the fastest competitor"
            name += f" ({line['cell'].split(' every ')[1]} rows to a watermark)" if line else ""
            rows.append(beside(told, name, line["ratio"] if line else None, line, unit="×"))
        if cells:
            plots.append(_online(stream, cells))
    words = (
        "Rows are sorted as they arrive, with a watermark every 10 to 1,000,000 rows, and have "
        "the columns of Fig. 7. The operator and its competitors are called at each watermark. "
        "Competitors that cannot sort rows as they arrive keep a sorted and an unsorted buffer, "
        "as in the paper. Their buffers are NumPy arrays. The operator holds Arrow tables, which "
        "cost more per call, so it is slow where a watermark comes every few rows."
    )
    return Part("Fig. 8: sorting online", "sort", words, tuple(rows), plots=tuple(plots))


def _online(stream: str, cells: list[Line]) -> Plot:
    found: dict[str, list[tuple[float, float]]] = {}
    for line in cells:
        every = float(line["cell"].split(" every ")[1].replace(",", ""))
        theirs = line["competitors_ns_per_row"]
        buffers = min(value for name, value in theirs.items() if name.startswith("buffers"))
        speeds = {"ours": line["ns_per_row"], "heap": theirs["heap"]}
        speeds |= {"the fastest buffers": buffers, PAPERS_OWN: theirs[PAPERS_OWN]}
        for name, ns in speeds.items():
            found.setdefault(name, []).append((every, 1e3 / ns))
    labels = ("rows to a watermark", "million events/s")
    title = f"Events of the {stream} stream sorted online, millions per second"
    return curves(f"online-{stream}", title, found, labels, is_log=(True, True))


def _lasts(results: Results) -> list[Line]:
    """Return the last line of each cell with competitors."""
    found = {line["cell"]: line for line in results.lines("sort") if line.get("fastest")}
    return list(found.values())

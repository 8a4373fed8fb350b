"""The optimistic paper's Fig. 9, the generator, and the speed of Trill's operators."""

from collections.abc import Iterator

from benchmarks.book import papers
from benchmarks.book.parts import Part
from benchmarks.book.plots import Plot, bars, curves
from benchmarks.book.results import Line, Results
from benchmarks.book.rows import Row, beside

EXTREME = 0.9
"""From this share of what workers can do, a load is extreme; the paper does not say from where."""


def optimistic(results: Results) -> Iterator[Part]:
    lines = results.lines("optimistic", benchmark="cluster")
    usual = [line for line in lines if line["load"] < EXTREME]
    told = papers.OPTIMISTIC_RATIO
    rows = []
    for key, name in (
        ("ratio", "word by word, as in the paper"),
        ("in_batches", "in micro-batches"),
    ):
        worst = max(usual, key=lambda line: line[key], default=None)
        what = f"{name}: the most under a load below {EXTREME}"
        what += f" ({worst['workers']} workers)" if worst else ""
        ours = worst[key] if worst else None
        rows.append(beside(told, what, ours, worst, better="less"))
    worst = max(lines, key=lambda line: line["ratio"], default=None)
    if worst:
        what = f"the most of all ({worst['workers']} workers, load {worst['load']})"
        rows.append(Row(what, worst["ratio"], line=worst))
    words = (
        "What comes to the barrier over what is valid, in building an inverted index. The paper "
        "ran ten small machines; we simulate them, and what it does not tell of their speed is "
        "assumed (`benchmarks.optimistic_cluster`)."
    )
    plots: tuple[Plot, ...] = ()
    if lines:
        found: dict[str, list[tuple[float, float]]] = {}
        for line in lines:
            name = f"{line['documents_per_second']:g} documents/s"
            in_vain = round(100 * (line["ratio"] - 1), 2)
            found.setdefault(name, []).append((line["workers"], in_vain))
        title = "Computed in vain, in percent of what is valid"
        plots = (curves("optimistic", title, found, ("workers", "% in vain")),)
    yield Part("Fig. 9: what is computed in vain", "optimistic", words, tuple(rows), plots=plots)


def generator(results: Results) -> Iterator[Part]:
    rows = []
    for line in results.lines("generator", question="same"):
        name = f"rows that differ: {line['compared']}"
        rows.append(Row(name, line["rows_that_differ"], 0.0, better="less", line=line))
    for line in results.lines("generator", question="fraction"):
        name = f"share out of order, {line['delay']}, asked for {line['asked']}"
        rows.append(Row(name, line["found"], line["asked"], better="same", line=line))
    words = (
        "The poster promises streams that are reproducible, and a configured fraction out of "
        "order; it has no numbers. Beside ours is what was asked for."
    )
    yield Part(
        "Reproducible, and as disordered as asked", "generator", words, tuple(rows), "asked for"
    )
    scale = results.lines("generator", question="scale")
    rows = [
        Row(
            f"{line['rows']:,} rows, {line['engine']}",
            line["rows_per_second"],
            unit="rows/s",
            line=line,
        )
        for line in scale
    ]
    yield Part("Scale", "generator", "Rows per second; the poster gives none.", tuple(rows))


def trill(results: Results) -> Iterator[Part]:
    lines = results.lines("temporal")
    rows = [
        beside(papers.TRILLION, line["question"], line["events_per_second"], line, unit="events/s")
        for line in lines
    ]
    words = (
        "The paper has no table of speeds. It is named for a trillion events a day, which it calls "
        "conservative in many cases: that is what is beside ours. On how many cores it does not "
        "say; ours has one."
    )
    plots: tuple[Plot, ...] = ()
    if lines:
        groups = {line["question"]: {"events": line["events_per_second"] / 1e6} for line in lines}
        title = "Temporal operators on one core, million events per second (logarithmic)"
        plots = (bars("temporal", title, groups, "M/s", is_log=True),)
    yield Part("Operators", "temporal", words, tuple(rows), plots=plots)
    yield against_polars(lines)


def against_polars(lines: list[Line]) -> Part:
    rows = [
        Row(line["question"], line["ratio_to_polars"], 1.0, "×", line=line)
        for line in lines
        if line.get("ratio_to_polars") is not None
    ]
    words = (
        "The same on a table that is there as a whole, by Polars with one thread: it is no stream, "
        "has no watermarks, and keeps nothing."
    )
    return Part("Operators, against Polars", "temporal", words, tuple(rows), "Polars")

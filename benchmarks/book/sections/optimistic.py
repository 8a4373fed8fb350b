"""The cost of computing results that are retracted: Fig. 9 of the optimistic paper."""

from collections.abc import Iterator

from benchmarks.book import papers
from benchmarks.book.parts import Part
from benchmarks.book.plots import Plot, curves
from benchmarks.book.results import Results
from benchmarks.book.rows import Row, beside

EXTREME = 0.9
"""Share of the workers' capacity from which a load is extreme; the paper gives no limit."""


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
        "The number of items that reach the barrier for each valid item, in building an inverted "
        "index. The paper ran ten small machines; we simulate them. Where the paper does not "
        "state their speed, we assume one (`benchmarks.optimistic_cluster`)."
    )
    plots: tuple[Plot, ...] = ()
    if lines:
        found: dict[str, list[tuple[float, float]]] = {}
        for line in lines:
            name = f"{line['documents_per_second']:g} documents/s"
            in_vain = round(100 * (line["ratio"] - 1), 2)
            found.setdefault(name, []).append((line["workers"], in_vain))
        title = "Wasted work, in percent of the valid items"
        plots = (curves("optimistic", title, found, ("workers", "% in vain")),)
    yield Part("Fig. 9: wasted work", "optimistic", words, tuple(rows), plots=plots)

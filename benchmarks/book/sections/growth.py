"""Growth of cost with events, keys, waits, held rows and cores: `benchmarks.scale`."""

from collections.abc import Iterator
from statistics import median

from benchmarks.book.parts import Part
from benchmarks.book.plots import Plot, curves
from benchmarks.book.results import Line, Results
from benchmarks.book.rows import Row
from benchmarks.scale import FLAT, SPEED_UP


def growth(results: Results) -> Iterator[Part]:
    yield _grown(results, "events", "rows", "Events ×2, ×4, ×8", FLAT)
    yield _grown(results, "keys", "keys", "Keys ×10, ×100", None)
    yield _grown(results, "waits", "waits", "Waits 1, 3, 6", None)
    yield held(results)
    yield held_locally(results)
    yield cores(results)


def _grown(results: Results, question: str, by: str, title: str, wanted: float | None) -> Part:
    lines = results.lines("scale", question=question)
    fewest = min((line[by] for line in lines), default=None)
    rows = []
    for line in lines:
        if line[by] != fewest:
            name = f"{line['query']}, {line[by]:,} {by}: time per row over that of the fewest"
            bound = "at most" if wanted else ""
            rows.append(Row(name, line["over_smallest"], wanted, "×", "less", bound, line))
    words = f"Wanted: at most {wanted}." if wanted else ""
    return Part(title, "scale", words, tuple(rows), "wanted")


def held(results: Results) -> Part:
    lines = results.lines("scale", question="held")
    found: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        name = "nothing due" if not line["due"] else f"{line['due']:,} rows due"
        found.setdefault(name, []).append((line["held"] / 1e6, line["seconds"]))
    rows = []
    for name, least, most in _ends(lines):
        what = (
            f"{name}: time of a micro-batch with {most['held']:,} rows held over {least['held']:,}"
        )
        ours = round(most["seconds"] / least["seconds"], 2)
        rows.append(Row(what, ours, FLAT, "×", "less", "at most", most))
    plots: tuple[Plot, ...] = ()
    if found:
        labels = ("million rows held", "seconds a micro-batch")
        shown = {name: sorted(curve) for name, curve in found.items()}
        plots = (curves("held", "Time of a micro-batch on Spark, by rows held", shown, labels),)
    words = (
        "The time of a micro-batch of the sort on Spark should depend on the rows that become "
        "ready, not on the rows held."
    )
    return Part("Held events, from 1 to 50 million", "scale", words, tuple(rows), "wanted", plots)


def _ends(lines: list[Line]) -> Iterator[tuple[str, Line, Line]]:
    for is_due in (False, True):
        own = sorted(
            (line for line in lines if bool(line["due"]) is is_due), key=lambda line: line["held"]
        )
        if len(own) > 1:
            yield ("as many rows due" if is_due else "nothing due"), own[0], own[-1]


def held_locally(results: Results) -> Part:
    lines = results.lines("held")
    rows = []
    if len(lines) > 2:
        third = len(lines) // 3
        first, last = lines[:third], lines[-third:]
        few, many = (min(line["held"] for line in own) for own in (first, last))
        what = f"time of a step with {many:,} rows held and more over {few:,} and more: medians"
        ours = round(_median(last) / _median(first), 2)
        rows.append(Row(what, ours, FLAT, "×", "less", "at most", last[-1]))
    words = "The same without Spark. Chunks are written and read again between two steps."
    return Part("Held events, in one process", "held", words, tuple(rows), "wanted")


def _median(lines: list[Line]) -> float:
    return median(line["milliseconds"] for line in lines)


def cores(results: Results) -> Part:
    rows = []
    for line in results.lines("scale", question="cores", cores=2):
        wanted = None if "Spark" in line["query"] else SPEED_UP
        name = f"{line['query']}: rows per second over one core"
        bound = "at least" if wanted else ""
        rows.append(Row(name, line["speed_up"], wanted, "×", "more", bound, line))
    words = f"Wanted: at least {SPEED_UP}. Spark's own query is included for comparison."
    return Part("Cores 1 → 2", "scale", words, tuple(rows), "wanted")

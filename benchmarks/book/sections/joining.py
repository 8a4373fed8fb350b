"""Quality-driven joins: Figs. 6 to 11 and Table II."""

from collections.abc import Iterator
from typing import Any

from benchmarks.book import papers
from benchmarks.book.parts import Part
from benchmarks.book.plots import Plot, curves
from benchmarks.book.results import Line, Results
from benchmarks.book.rows import Row, beside

DATA = ("match", "D×3", "D×4")
RECALLS = (0.9, 0.95, 0.99, 0.999)
WAYS = {"calibrated": "our feedback", "paper": "the paper's feedback", "none": "no feedback"}
VARIED = {
    "8": ("period_s", "period over which recall is measured, in seconds"),
    "9": ("interval_s", "seconds between two choices of the wait"),
    "10": ("granularity_ms", "steps in which waits are tried, in ms"),
}
_SAID = {
    "8": "The paper says that short periods are harder.",
    "9": "The paper says, without numbers, that the wait grows noticeably with the interval.",
    "10": (
        "The paper says, without numbers, that the wait grows noticeably with the steps on the "
        "match, and hardly on D×3."
    ),
}


def joining(results: Results) -> Iterator[Part]:
    yield figure_6(results)
    yield table_2(results)
    yield figure_7(results)
    for figure in VARIED:
        yield varied(results, figure)
    yield figure_11(results)


def figure_6(results: Results) -> Part:
    rows = []
    for data in DATA:
        line = results.last("joins", figure="6", data=data)
        told = papers.RECALL_WITHOUT_WAIT.get(data)
        ours = line.get("recall") if line else None
        rows.append(beside(told, f"{data}: recall", ours, line, better="neither"))
    words = (
        "The recall without any wait. It is a property of the streams, not of the join. The "
        "paper's match is not public; ours is another one, with other delays "
        "(`benchmarks.joins_data`)."
    )
    return Part("Fig. 6: no wait", "joins", words, tuple(rows))


def table_2(results: Results) -> Part:
    rows = []
    for data in DATA:
        line = results.last("joins", figure="table 2", data=data)
        for key, unit, told in (
            ("average_wait", "s", papers.LONGEST_WAIT[data]),
            ("recall", "", papers.LONGEST_RECALL[data]),
        ):
            ours = line.get(key) if line else None
            name = f"{data}: {key.replace('_', ' ')}"
            rows.append(beside(told, name, ours, line, unit=unit, better="neither"))
    words = (
        "The wait is the longest delay so far (Max-K-slack). This is a property of the streams, "
        "too."
    )
    return Part("Table II: the longest delay as the wait", "joins", words, tuple(rows))


def figure_7(results: Results) -> Part:
    rows, plots = [], []
    for data in DATA:
        for recall in RECALLS:
            line = _asked(results, data, recall, "calibrated")
            told = papers.NEARLY
            ours = _percent(line, "nearly")
            name = f"{data}, recall {recall}: measurements with 99 % of it"
            rows.append(beside(told, name, ours, line, unit="%"))
            if below := papers.BELOW_LONGEST.get((data, recall)):
                name = f"{data}, recall {recall}: wait below the longest delay by"
                ours = _percent(line, "below_max")
                rows.append(beside(below, name, ours, line, unit="%"))
        found = {name: _waits(results, data, way) for way, name in WAYS.items()}
        if any(found.values()):
            title = f"Average wait for a recall, {data}"
            shown = {name: curve for name, curve in found.items() if curve}
            labels = ("share of the results that may be missing", "average wait, seconds")
            file = f"joins-{data.replace('×', '')}".lower()
            plots.append(curves(file, title, shown, labels, is_log=(True, False)))
    words = "With NonEqSel and the default feedback."
    return Part("Fig. 7: a stated recall", "joins", words, tuple(rows), plots=tuple(plots))


def _asked(results: Results, data: str, recall: float, feedback: str) -> Line | None:
    wanted: dict[str, Any] = {"figure": "7", "data": data, "recall_asked": recall}
    return results.last("joins", selectivity="NonEqSel", feedback=feedback, **wanted)


def _waits(results: Results, data: str, feedback: str) -> list[tuple[float, float]]:
    lines = ((recall, _asked(results, data, recall, feedback)) for recall in RECALLS)
    found = [(round(1 - recall, 6), line["average_wait"]) for recall, line in lines if line]
    return sorted(found)


def _percent(line: Line | None, key: str) -> float | None:
    value = line.get(key) if line else None
    return None if value is None else round(100 * value, 2)


def varied(results: Results, figure: str) -> Part:
    key, label = VARIED[figure]
    lines = results.lines("joins", figure=figure)
    waits: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        name = f"{line['data']}, recall {line['recall_asked']}"
        waits.setdefault(name, []).append((line[key], line["average_wait"]))
    plots: tuple[Plot, ...] = ()
    if waits:
        title = f"Average wait by {label}"
        labels = (label, "average wait, seconds")
        plots = (
            curves(f"joins-{key}".replace("_", "-"), title, waits, labels, is_log=(True, False)),
        )
    rows: tuple[Row, ...] = ()
    measured = [line for line in lines if line.get("nearly") is not None]
    if figure == "8":
        told = papers.NEARLY_BY_PERIOD
        worst = min(measured, key=lambda line: line["nearly"], default=None)
        name = "measurements with 99 % of the recall, the worst of all"
        name += f" ({worst['data']}, {worst[key]:g} s)" if worst else ""
        ours = _percent(worst, "nearly")
        rows = (beside(told, name, ours, worst, unit="%"),)
    return Part(f"Fig. {figure}: {label}", "joins", _SAID[figure], rows, plots=plots)


def figure_11(results: Results) -> Part:
    rows: list[Row] = []
    lines = [line for line in results.lines("joins", figure="11") if line["granularity_ms"] >= 10]
    for recall, told in papers.STEP_MS.items():
        own = [line for line in lines if line["recall_asked"] == recall]
        worst = max(own, key=lambda line: line["step_ms_mean"], default=None)
        name = f"recall {recall}: the slowest of all"
        name += f" ({worst['data']}, steps of {worst['granularity_ms']:g} ms)" if worst else ""
        ours = worst["step_ms_mean"] if worst else None
        rows.append(beside(told, name, ours, worst, unit="ms", better="less"))
    words = "The average, in steps of 10 ms or more."
    return Part("Fig. 11: the time to choose a wait", "joins", words, tuple(rows))

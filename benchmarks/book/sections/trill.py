"""The speed of Trill's operators."""

from collections.abc import Iterator

from benchmarks.book import papers
from benchmarks.book.parts import Part
from benchmarks.book.plots import Plot, bars, curves
from benchmarks.book.results import Line, Results
from benchmarks.book.rows import Row, beside


def trill(results: Results) -> Iterator[Part]:
    lines = results.lines("temporal")
    rows = [
        beside(papers.TRILLION, line["question"], line["events_per_second"], line, unit="events/s")
        for line in lines
    ]
    words = (
        "The paper has no table of speeds. Its name promises a trillion events a day, which the "
        "paper calls conservative in many cases, so ours are compared with that rate. The paper "
        "does not say how many cores that takes; ours run on one."
    )
    plots: tuple[Plot, ...] = ()
    if lines:
        groups = {line["question"]: {"events": line["events_per_second"] / 1e6} for line in lines}
        title = "Temporal operators on one core, million events per second (logarithmic)"
        plots = (bars("temporal", title, groups, "M/s", is_log=True),)
    yield Part("Operators", "temporal", words, tuple(rows), plots=plots)
    yield against_polars(lines)
    yield doubled(results)
    yield threads(results)
    yield key_order(results)
    yield batch_sizes(results)


def against_polars(lines: list[Line]) -> Part:
    rows = [
        Row(line["question"], line["ratio_to_polars"], 1.0, "×", line=line)
        for line in lines
        if line.get("ratio_to_polars") is not None
    ]
    words = (
        "The same questions on a complete table, by Polars with one thread. Polars does not "
        "stream here: it has no watermarks and keeps no state."
    )
    return Part("Operators, against Polars", "temporal", words, tuple(rows), "Polars")


def doubled(results: Results) -> Part:
    rows = [
        Row(
            f"{line['question']}: time over that with half the {line['doubled']}",
            line["ratio"],
            2.1,
            "×",
            "less",
            bound="at most",
            line=line,
        )
        for line in results.lines("linear")
    ]
    words = "Whether the cost stays linear: twice as many events, keys or rows that overlap."
    return Part("Operators, twice as much of everything", "linear", words, tuple(rows), "wanted")


def threads(results: Results) -> Part:
    rows = [
        Row(
            f"{line['query']}: speed on {line['threads']} threads over that on one",
            line["times_as_fast"],
            1.0,
            "×",
            line=line,
        )
        for line in results.lines("threads")
    ]
    words = "`run(threads=…)` on the local host, which spreads keys over threads (Section 8)."
    return Part("Threads", "threads", words, tuple(rows), "one thread")


def key_order(results: Results) -> Part:
    rows = [
        Row(
            f"{line['question']}, {line['keys']:,} keys of {line['type']}: share saved at most",
            line["saved"],
            line=line,
        )
        for line in results.lines("key_order")
    ]
    words = (
        "Trill joins streams that are sorted by key by merging them (Sections 9.1 and 9.3). Here "
        "all operators pass on rows in order of time, and there is no such way. This is the share "
        "of a join's time that it could save at most: coding and looking up keys, less putting the "
        "results into order of time again."
    )
    return Part("Rows sorted by key", "key_order", words, tuple(rows), "")


def batch_sizes(results: Results) -> Part:
    lines = results.lines("batch_sizes")
    rows = [
        Row(
            f"{line['query']}, {line['batch']:,} rows: time for a row over that with the best size",
            line["over_best"],
            unit="×",
            line=line,
        )
        for line in lines
    ]
    found: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        found.setdefault(line["query"], []).append((line["batch"], line["ns_per_row"]))
    plots: tuple[Plot, ...] = ()
    if found:
        title = "Processor time for a row on the local host, by the size of batches"
        labels = ("rows in a batch", "nanoseconds a row")
        plots = (curves("batch_sizes", title, found, labels, is_log=(True, True)),)
    words = (
        "Trill fills batches of up to 80,000 rows, and lets each operator choose a smaller size "
        "where watermarks come often (Section 7.4). Here an operator passes on what is due, in a "
        "batch of exactly that size, so only the size of a micro-batch can be chosen."
    )
    return Part("Batch sizes", "batch_sizes", words, tuple(rows), "", plots)

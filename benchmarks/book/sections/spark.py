"""The sort, several waits, window joins and patterns on Spark, and queries without Latecomer."""

from collections.abc import Iterator

from benchmarks.book.parts import Part
from benchmarks.book.results import Line, Results
from benchmarks.book.rows import Row

WINDOWS = ("1 minute", "1 second")


def on_spark(results: Results) -> Iterator[Part]:
    yield sort(results)
    yield waits(results)
    yield joins(results)
    yield patterns(results)
    yield progressive(results)
    yield first_answer(results)


def sort(results: Results) -> Part:
    lines = results.lines("spark_sort")
    line = next((line for line in reversed(lines) if line.get("over_buffer")), None)
    rows = [
        _times("rows per second, over a buffer by `transformWithState`", line, "over_buffer"),
        _times("rows per second, over copying them through Python", line, "over_identity"),
    ]
    return Part("A streaming sort", "spark_sort", "", tuple(rows), "theirs")


def waits(results: Results) -> Part:
    rows = []
    for window in WINDOWS:
        line = results.last("waits", cell="spark cloud Q3", window=window)
        for where, prefix in (("in buckets", ""), ("on the driver", "driver_")):
            name = f"windows of {window}, states {where}"
            rows.append(_times(f"{name}, over a query for each wait", line, f"{prefix}over_three"))
            rows.append(_times(f"{name}, over one query", line, f"{prefix}over_spark"))
    words = (
        "Three waits in one query, against Spark's own `withWatermark` aggregation: one such "
        "query for each wait, or only the one with the longest wait. docs/waits.md says when to "
        "keep states in buckets, and when on the driver."
    )
    return Part("Several waits", "waits", words, tuple(rows), "Spark's own")


def joins(results: Results) -> Part:
    rows = []
    for method, name in (("latecomer", "recall 0.99"), ("max", "longest delay")):
        line = results.last("joins_spark", method=method)
        rows.append(_times(f"window join of three streams, {name}", line, "against_spark"))
    words = (
        "Against two consecutive stream-stream joins with the longest delay as watermark, which "
        "has to be known beforehand. Spark's joins emit results in no order, ours in order of "
        "time."
    )
    return Part("Window joins", "joins_spark", words, tuple(rows), "Spark's own")


def patterns(results: Results) -> Part:
    rows = []
    for question, key, name in (
        ("local", "over_python", "in one process, over an automaton in Python"),
        ("spark", "over_join", "on Spark, over a self-join"),
        ("dense", "over_join", "on Spark, over a self-join, many clicks"),
    ):
        rows.append(_times(name, results.last("patterns", question=question), key))
    return Part("Patterns", "patterns", "", tuple(rows), "theirs")


def progressive(results: Results) -> Part:
    rows = []
    for question in ("cheap", "costly"):
        line = results.last("progressive", question=question, cell="by id")
        for key, name in (("first_over_spark", "first"), ("total_over_spark", "last")):
            ours = line.get(key) if line else None
            what = f"{question} query: time to the {name} answer"
            rows.append(Row(what, ours, 1.0, "×", "less", line=line))
    words = "The time divided by that of Spark's own `groupBy`, which gives one answer."
    return Part("Early answers about tables", "progressive", words, tuple(rows), "Spark's own")


def _times(name: str, line: Line | None, key: str) -> Row:
    return Row(name, line.get(key) if line else None, 1.0, "×", line=line)


def first_answer(results: Results) -> Part:
    """Compare the first answer and the micro-batches of small queries with their goals."""
    whats = {
        "first_over_spark": "time to the first answer",
        "micro_batch_over_spark": "micro-batch",
    }
    rows = [
        Row(
            f"{line['query']}: {words}, over Spark's own windowed count",
            line[what],
            line.get(f"{what}_goal") or 1.0,
            "×",
            "less",
            "at most" if line.get(f"{what}_goal") else "",
            line,
        )
        for what, words in whats.items()
        for line in results.lines("first_answer")
        if line["query"] not in ("passed", "spark")
    ]
    words = (
        "Fresh processes, micro-batches of 1,000 rows, files in and out. The time to the first "
        "answer is that from `start` until a reader finds a row."
    )
    return Part(
        "The first answer, and small micro-batches", "first_answer", words, tuple(rows), "wanted"
    )

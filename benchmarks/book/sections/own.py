"""Questions that no paper asks: recall, clocks of keys, replay, kernels, on call."""

from collections.abc import Iterator

from benchmarks.book.parts import Part
from benchmarks.book.results import Results
from benchmarks.book.rows import Row


def own(results: Results) -> Iterator[Part]:
    yield recall(results)
    yield recall_on_spark(results)
    yield clocks(results)
    yield replay(results)
    yield kernels(results)
    yield on_call(results)


def recall(results: Results) -> Part:
    rows = []
    for line in results.lines("recall"):
        name = f"{line['stream']}, {line['query']}: recall after the first tenth"
        asked = line["recall_asked"]
        rows.append(Row(name, line["settled"], asked, line=line, place="asked for"))
        name = f"{line['stream']}, {line['query']}, {asked}: average wait over the best fixed one"
        if line["best_fixed_wait"]:
            wait = round(line["average_wait"] / line["best_fixed_wait"], 2)
            rows.append(Row(name, wait, 1.0, "×", "less", line=line, place="known in hindsight"))
    words = "`sort(recall=…)` on streams whose delays are not known beforehand."
    return Part("A wait for a recall", "recall", words, tuple(rows), "wanted")


def recall_on_spark(results: Results) -> Part:
    rows = [
        Row(
            f"{line['query']}, {line['rows_per_batch']:,} rows a micro-batch: time over one wait",
            line["over_fixed"],
            1.5,
            "×",
            "less",
            "at most",
            line,
        )
        for line in results.lines("recall_spark", way="recalls")
    ]
    words = "Three recalls, which give three answers, against one fixed wait, which gives one."
    return Part("Three recalls on Spark", "recall_spark", words, tuple(rows), "wanted")


def clocks(results: Results) -> Part:
    rows = []
    for line in results.lines("clocks"):
        ours = line.get("times_as_long")
        name = f"{line['operator']}, {line['keys']:,} keys: time over that with one clock for all"
        rows.append(Row(name, ours, 1.0, "×", "less", line=line))
    return Part("A clock for each key", "clocks", "", tuple(rows), "one clock")


def replay(results: Results) -> Part:
    rows = [
        Row(
            f"rows per second over reading files, {line['row_group']:,} rows to a row group",
            line["ratio"],
            1.0,
            "×",
            line=line,
        )
        for line in results.lines("replay")
    ]
    return Part("Replay", "replay", "", tuple(rows), "files")


def kernels(results: Results) -> Part:
    rows = [
        Row(f"seconds to the first kernel: {line['start']}", line["seconds"], unit="s", line=line)
        for line in results.lines("kernel_start")
    ]
    words = "The time in a new Python process; `numba` is the time of its import alone."
    return Part("The first kernel", "kernel_start", words, tuple(rows), "")


def on_call(results: Results) -> Part:
    queries = {"driver": "a query of start()", "plain": "a query of your own"}
    rows = [
        Row(
            f"{queries[line['question']]}: totals, metrics and a status over the micro-batch",
            line["together_share"],
            0.02,
            better="less",
            bound="below",
            line=line,
        )
        for question in queries
        for line in results.lines("on_call", question=question)
    ]
    return Part("On call", "on_call", "", tuple(rows), "wanted")

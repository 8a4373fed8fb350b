"""The windowed count and the window join, compared with Spark, Flink, Pathway and Bytewax."""

from collections.abc import Iterator

from benchmarks.book.parts import Part
from benchmarks.book.plots import bars
from benchmarks.book.results import Results
from benchmarks.book.rows import Better, Row

QUESTIONS = {
    "count": "Count by window and key",
    "join": "Window join of two streams",
}


def peers(results: Results) -> Iterator[Part]:
    for question, title in QUESTIONS.items():
        lines = results.lines("peers", question=question)
        ours = {line["way"]: line for line in lines if line["system"] == "latecomer"}
        rows, groups, notes = [], {}, []
        for line in lines:
            name = f"{line['system']} {line['version']}" if line.get("version") else line["system"]
            if line.get("error"):
                notes.append(f"- {name}: not run, {line['error']}")
                continue
            name = f"{name}, {line['way']}" if line["way"] else name
            is_floor = line.get("is_right") is None
            if not (is_floor or line["is_right"]):
                name += f" (**wrong**: {line['results']:,} results)"
            groups[name] = {"rows": line["rows_per_second"] / 1e6}
            times = f"{line['start_seconds']} s to start, {line['seconds']} s of work"
            if is_floor:
                times += "; a floor, which reads the rows and answers nothing"
            notes.append(f"- {name}: {line['settings']}; {times}")
            if line["system"] == "latecomer":
                continue
            for way, own in ours.items():
                what = f"ours ({way}) over {name}" if way else f"ours over {name}"
                ratio = round(own["rows_per_second"] / line["rows_per_second"], 2)
                better: Better = "neither" if is_floor else "more"
                rows.append(Row(what, ratio, 1.0, "×", better, line=line))
        drawn = f"{title}, million rows per second"
        plots = (bars(f"peers-{question}", drawn, groups, "M/s"),) if groups else ()
        words = (
            "The wall-clock time of a new process, minus the time that the same program takes for "
            "almost no rows, which is its time to start. Settings:\n\n" + "\n".join(notes)
        )
        if lines:
            yield Part(title, "peers", words, tuple(rows), "theirs", plots)
        else:
            yield Part(title, "peers", theirs="theirs")

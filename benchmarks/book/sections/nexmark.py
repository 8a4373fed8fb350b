"""The queries of Nexmark, compared with Spark's own streaming and with Flink."""

from collections.abc import Iterator

from benchmarks.book.parts import Part
from benchmarks.book.results import Line, Results
from benchmarks.book.rows import Row

QUERIES = {
    "q1": "1, currency conversion",
    "q2": "2, selection",
    "q3": "3, local items",
    "q4": "4, average price of a category",
    "q5": "5, hot items",
    "q7": "7, highest bid",
    "q8": "8, new users",
    "q9": "9, winning bids",
    "q11": "11, user sessions",
    "q12": "12, windows of processing time",
}
TITLE = "Queries of Nexmark, in events per second"
WORDS = """\
Persons, auctions and bids of an auction house, 30 % of them out of order by up to 3.9 s, with a
wait of 4 s. All systems read the same files, and their answers are compared, row by row, with those
of the same query in DuckDB over complete tables. The time is that of one query, after a run on few
events in the same process. All queries on Spark run in one process, and each query of Flink in one
of its own. In Latecomer, queries 1 and 2 also put rows in order of time; Spark and Flink leave them
as they came. Processing time is the recorded arrival, so that all systems have the same windows."""


def nexmark(results: Results) -> Iterator[Part]:
    lines = results.lines("nexmark")
    rows, notes = [], []
    for query, title in QUERIES.items():
        ours = results.last("nexmark", query=query, system="latecomer")
        for system in ("Spark", "Flink"):
            line = results.last("nexmark", query=query, system=system)
            if line is None or ours is None:
                continue
            if line.get("error"):
                notes.append(f"- Query {title}, {system}: not run, {line['error']}.")
                continue
            speed = None if ours.get("error") else ours["events_per_second"]
            rows.append(
                Row(f"{title}; {system}", speed, line["events_per_second"], "events/s", line=ours)
            )
        notes += [_wrong(title, each) for each in lines if each.get("query") == query]
    settings = {
        f"- {line['system']} {line['version']}: {line['settings']}."
        for line in lines
        if line.get("version")
    }
    said = [*sorted(settings), *filter(None, notes)]
    yield Part(TITLE, "nexmark", "\n".join([WORDS, "", *said]).strip(), tuple(rows), "theirs")


def _wrong(title: str, line: Line) -> str:
    if line.get("error") or not (line["missing"] or line["extra"]):
        return ""
    amounts = f"{line['missing']:,} rows missing, {line['extra']:,} too many, of {line['rows']:,}"
    return f"- Query {title}, {line['system']}: **wrong**, {amounts}."

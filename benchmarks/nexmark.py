"""How fast are the queries of Nexmark in Latecomer, in Spark's own streaming and in Flink?

Nexmark is the benchmark of streaming queries over an auction house: queries 1 to 8 are of Tucker,
Tufte, Papadimos, Maier: *NEXMark: A Benchmark for Queries over Data Streams* (2008), 9 to 12 of
Apache Beam's suite. The windows of 10 s, which hop by 2 s, and the wait of 4 s are those of the
suite that Flink publishes. Events are our own (`benchmarks.nexmark_data`), and 30 % of them come
out of order. Everybody reads the same files and writes files, and every answer is compared, row by
row, with the same query in DuckDB over complete tables (`benchmarks.nexmark_sql`).

    latecomer    `benchmarks.nexmark_queries`, public names only
    Spark        `benchmarks.nexmark_spark`, in the same session and in the same micro-batches
    Flink        `benchmarks.peer_programs.nexmark_on_flink`, in an environment of its own; each
                 query in a process of its own, which is stopped after a minute

    seconds           of one query, from its start to its end, after a run on few events
    events_per_second events of the streams that the query reads, divided by them
    missing, extra    rows that were not found, and rows that should not be there

Query 6 averages the last ten auctions of a seller, and 10 and 13 are about files and tables: they
are left out, and so are those that came later, which ask nothing new of time.

    python -m benchmarks.nexmark [--events 200000] [--quick] [--system Flink] [--query q5] [--json]
"""

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.nexmark_data import BATCHES, Events, make, write
from benchmarks.nexmark_queries import QUERIES, READ
from benchmarks.nexmark_sql import answers, differences
from benchmarks.peers import PEERS, PROGRAMS, ROOT, PeerError, done, python

EVENTS, FEW, QUICK = 200_000, 2_000, 20_000
QUICK_BATCHES = 2
SYSTEMS = ("latecomer", "Spark", "Flink")
LIMIT = 60
"""Seconds that Flink has for a query, from the start of its process."""
(FLINK,) = (each for each in PEERS if each.system == "Flink")

Line = dict[str, Any]


def on_spark(systems: list[str], queries: list[str], work: Path, events: dict[str, Events]) -> str:
    """Run Latecomer's and Spark's queries in one session; return what was printed."""
    few = ["", "0"]
    if "few" in events:
        few = [str(work / "few" / "batches"), str(events["few"].longest)]
    command = [sys.executable, "-m", "benchmarks.nexmark_spark", str(work / "all" / "batches")]
    command += [str(work / "found"), str(events["all"].longest), *few]
    return done([*command, ",".join(systems), ",".join(queries)])


def on_flink(query: str, work: Path, events: dict[str, Events], python_: str) -> str:
    """Run one query of Flink in a process and an environment of its own; return what it printed."""
    few = str(work / "few" / "parts") if "few" in events else ""
    command = [python_, str(PROGRAMS / "nexmark_on_flink.py")]
    command += [str(work / "all" / "parts"), str(work / "found" / "Flink"), few, query]
    return done(command, LIMIT)


def printed_by_flink(query: str, said: str, right: pa.Table) -> pa.Table:
    """Apply the updates that Flink has printed; the first column of an answer is its key."""
    rows: dict[str, list[str]] = {}
    change = re.compile(rf"^{query}(?::\d+)?> (\+I|-U|\+U|-D)\[(.*)\]$", re.MULTILINE)
    for kind, text in change.findall(said):
        values = text.split(", ")
        if kind.startswith("+"):
            rows[values[0]] = values
        elif kind == "-D":
            rows.pop(values[0], None)
    columns = zip(*rows.values(), strict=True) if rows else [[] for _ in right.column_names]
    return pa.table([pa.array(each, pa.string()) for each in columns], right.column_names).cast(
        right.schema
    )


def found_by_flink(query: str, said: str, right: pa.Table, folder: Path) -> pa.Table:
    """Read what Flink has found."""
    if not (folder / query).exists():
        return printed_by_flink(query, said, right)
    names = right.column_names
    # Flink keeps notes of its own beside results.
    files = [str(path) for path in (folder / query).rglob("*") if path.is_file()]
    kept = [path for path in files if Path(path).name[0] not in "._"]
    if not kept:
        return right.slice(0, 0)
    return duckdb.read_csv(kept, header=False, names=names).to_arrow_table().cast(right.schema)


Run = tuple[list[Line], Callable[[], str]]
"""Whose a run is, in case it fails, and how to do it."""


def runs(
    systems: list[str],
    queries: list[str],
    work: Path,
    events: dict[str, Events],
    environments: Path,
) -> Iterator[Run]:
    """Yield one run for all that is on Spark, and one for each query of Flink."""
    if in_spark := [each for each in systems if each != "Flink"]:
        whose = [{"system": each} for each in in_spark]
        yield whose, partial(on_spark, in_spark, queries, work, events)
    if "Flink" not in systems:
        return
    try:
        python_ = python(FLINK, environments)
    except PeerError as error:
        said = str(error)
        yield [], lambda: json.dumps({"system": "Flink", "error": said})
        return
    for query in queries:
        yield [{"query": query, "system": "Flink"}], partial(on_flink, query, work, events, python_)


def measured(arguments: argparse.Namespace, work: Path) -> Iterator[Line]:
    count = QUICK if arguments.quick else arguments.events
    queries = arguments.query or list(QUERIES)
    systems = arguments.system or list(SYSTEMS[:1] if arguments.quick else SYSTEMS)
    events = {"all": make(count)}
    write(events["all"], work / "all", QUICK_BATCHES if arguments.quick else BATCHES)
    if not arguments.quick:
        events["few"] = make(FEW)
        write(events["few"], work / "few", 1)
    right = dict(answers(events["all"]))
    for whose, run in runs(systems, queries, work, events, arguments.environments):
        try:
            said = run()
        except PeerError as error:
            yield from ({"benchmark": "nexmark", **each, "error": str(error)} for each in whose)
            continue
        for text in said.splitlines():
            if text.startswith("{"):
                line = {"benchmark": "nexmark", **json.loads(text)}
                yield line if "error" in line else compared(line, events["all"], right, work, said)


def compared(line: Line, events: Events, right: dict[str, pa.Table], work: Path, said: str) -> Line:
    """Add the speed to a line, and how far the answer is from the right one."""
    query, system = line["query"], line["system"]
    folder = work / "found" / system
    found: str | pa.Table = f"{folder / query}/**/*.parquet"
    if system == "Flink":
        found = found_by_flink(query, said, right[query], folder)
    missing, extra = differences(query, right[query], found)
    read = sum(events.tables[name].num_rows for name in READ[query])
    return line | {
        "seconds": round(line["seconds"], 2),
        "events": read,
        "events_per_second": round(read / line["seconds"]),
        "rows": right[query].num_rows,
        "missing": missing,
        "extra": extra,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=EVENTS, help=f"default: {EVENTS:,}")
    quick = f"{QUICK:,} events, Latecomer only, and no run on few events before"
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--system", nargs="+", choices=SYSTEMS, help="default: all")
    parser.add_argument("--query", nargs="+", choices=list(QUERIES), help="default: all")
    parser.add_argument("--environments", type=Path, default=ROOT / ".peers")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="latecomer-nexmark-"))
    wrong = []
    try:
        for line in measured(arguments, work):
            words = "  ".join(f"{key} {value}" for key, value in line.items())
            print(json.dumps(line) if arguments.json else words, flush=True)
            if line["system"] == "latecomer" and (line.get("missing") != 0 or line["extra"]):
                wrong.append(line.get("query", "all"))
    finally:
        shutil.rmtree(work)
    if wrong:
        raise SystemExit(f"wrong answers of Latecomer: {', '.join(wrong)}")


if __name__ == "__main__":
    main()

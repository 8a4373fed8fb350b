"""What does it cost to compute results at once and retract wrong ones, and what does it gain?

Each part answers one question:

    cluster    the paper's experiment (Fig. 9): an inverted index on a simulated cluster. `ratio`
               is the number of items that reach the barrier over that of valid items, word by
               word as in the paper; `in_batches` is the same in micro-batches of 500 words, where
               some items cancel out
    steps      one to three chained stateful steps with different keys: optimistic, with a
               changelog or a barrier; with one `buffer` before the first step and one clock; and
               with `buffers` before each step and their own clocks. The final rows are equal.
               Printed are seconds from arrival to the first and to the last result, the most
               rows held, and rows a second. In a running `total` a straggler changes all later
               results; in the `change` from the row before, only the next one
    batches    how the number of emitted items falls with the rows of a micro-batch
    snapshots  the cost of a straggler, by the rows for each kept state and by its distance
    compiled   rows a second of one step on ordered rows, called and compiled
    spark      a stream on Spark with injected disorder: items that reach the barrier over valid
               items, and the time of a micro-batch, for two steps with a changelog or a barrier,
               and for a sort alone

    python -m benchmarks.optimistic [--only cluster] [--rows 100000] [--json]
"""

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import pyarrow as pa

import latecomer as lc
from benchmarks.optimistic_cluster import (
    Cluster,
    arrivals,
    capacity,
    documents,
    indexed,
    one_by_one,
    out_of_order,
)
from latecomer.clock.policy import OneClock
from latecomer.generate.micro_batches import write_micro_batches
from latecomer.hosts.local import LocalHost, MemoryChunks
from latecomer.operators.optimistic import compiled
from latecomer.operators.optimistic.barrier import Barrier
from latecomer.operators.optimistic.changelog import Changelog
from latecomer.operators.optimistic.enter import Enter
from latecomer.operators.optimistic.items import MARKS
from latecomer.operators.optimistic.stateful import Stateful, StateUpdater
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn

SECOND = 1_000_000
TIME = TimeColumn("time", "us")
WAIT = 10
"""The longest delay, in seconds."""
OUT = pa.schema([(name, pa.int64()) for name in ("id", "shop", "region", "amount")])
KEYS = ("account", "shop", "region")


def payments(rows: int, fraction: float, delay: str = f"uniform:1s:{WAIT}s") -> pa.Table:
    """Return a thousand payments a second, of a thousand accounts, in order of arrival."""
    random = np.random.default_rng(7)
    table = pa.table(
        {
            "time": pa.array(np.arange(rows) * SECOND // 1_000),
            "id": np.arange(rows),
            "account": random.integers(0, 1_000, rows),
            "shop": random.integers(0, 100, rows),
            "region": random.integers(0, 10, rows),
            "amount": random.integers(0, 100, rows),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lc.FractionWarning)
        return lc.inject_disorder(
            table, time="time", unit="us", fraction=fraction, delay=delay, seed=3
        )


def plan(steps: Sequence[int], way: str, kind: str) -> Plan:
    """Return a plan of some steps. Each step drops the key of the one before."""
    stages = []
    for number in steps:
        name, is_first = KEYS[number], number == steps[0]
        columns = [field for field in OUT if field.name not in KEYS[: number + 1]]
        made = pa.schema(columns)
        update = FUNCTIONS[kind][number]
        first: tuple[Any, ...] = (Enter(TIME, (name,)),) if is_first else ()
        if way.startswith("buffer") and is_first:
            first = (Sort(TIME), *first)
        stages.append(Stage((name,), (*first, Stateful(TIME, (name,), update, 0, made))))
    end = Barrier(TIME) if way == "barrier" else Changelog()
    stages[-1] = Stage(stages[-1].key, (*stages[-1].operators, end))
    return Plan(Source(TIME), OneClock((WAIT * SECOND,)), "divert", tuple(stages))


def hosts(steps: int, way: str, kind: str, schema: pa.Schema) -> list[LocalHost]:
    """Return one host for all steps, or one for each step with a buffer and a clock of its own."""
    parts = [[number] for number in range(steps)] if way == "buffers" else [[*range(steps)]]
    made = []
    for part in parts:
        of = plan(part, way, kind)
        made.append(LocalHost(of, schema))
        schema = pa.schema([field for field in of.output_schema(schema) if field.name[0] != "_"])
    return made


def by_account(total: int, row: Any) -> tuple[int, tuple[int, int, int, int]]:
    total += row.amount
    return total, (row.id, row.shop, row.region, total % 1_000)


def by_shop(total: int, row: Any) -> tuple[int, tuple[int, int, int]]:
    total += row.amount
    return total, (row.id, row.region, total % 1_000)


def by_region(total: int, row: Any) -> tuple[int, tuple[int, int]]:
    total += row.amount
    return total, (row.id, total % 1_000)


def change_by_account(last: int, row: Any) -> tuple[int, tuple[int, int, int, int]]:
    return row.amount, (row.id, row.shop, row.region, row.amount - last)


def change_by_shop(last: int, row: Any) -> tuple[int, tuple[int, int, int]]:
    return row.amount, (row.id, row.region, row.amount - last)


def change_by_region(last: int, row: Any) -> tuple[int, tuple[int, int]]:
    return row.amount, (row.id, row.amount - last)


FUNCTIONS = {
    "total": (by_account, by_shop, by_region),
    "change": (change_by_account, change_by_shop, change_by_region),
}


def batches_of(table: pa.Table, seconds: float) -> Iterator[tuple[int, pa.Table]]:
    """Cut rows by arrival; return micro-batches with the times at which they are complete."""
    arrived = table["arrival"].to_numpy()
    size = int(seconds * SECOND)
    ends = np.arange(arrived[0] // size + 1, arrived[-1] // size + 2) * size
    cuts = [0, *np.searchsorted(arrived, ends).tolist()]
    for end, (start, stop) in zip(ends.tolist(), pairwise(cuts), strict=True):
        yield end, table.slice(start, stop - start)


def run(
    table: pa.Table, steps: int, way: str, kind: str = "total", seconds: float = 1.0
) -> dict[str, Any]:
    """Run all steps, and return the delays of the first and the last result of rows."""
    count = table.num_rows
    running = hosts(steps, way, kind, table.drop(["arrival"]).schema)
    first, last = np.full(count, -1), np.full(count, -1)
    held, said, spent = 0, 0, 0.0
    final: dict[int, int] = {}
    answers: list[tuple[int, pa.Table]] = []
    end = 0
    for end, batch in batches_of(table, seconds):
        began = time.process_time()
        ready = batch.drop(["arrival"])
        for host in running:
            ready = host.step(without_marks(ready)).ready
        spent += time.process_time() - began
        answers.append((end, ready))
        # Only stages know how many rows they hold.
        stages = [stage for host in running for stage in host._stages[0]]  # noqa: SLF001
        held = max(held, sum(stage.held for stage in stages))
    began = time.process_time()
    for number, host in enumerate(running, 1):
        # The clocks reach the end one after the other.
        ready = host.finish().ready
        for behind in running[number:]:
            ready = behind.step(without_marks(ready)).ready
        answers.append((end + number * WAIT * SECOND, ready))
    spent += time.process_time() - began
    for at, ready in answers:
        said += ready.num_rows
        rows = ready
        if "_change_type" in ready.column_names:
            rows = ready.filter(pa.compute.equal(ready["_change_type"], "insert"))
        ids = rows["id"].to_numpy()
        first[ids] = np.where(first[ids] < 0, at, first[ids])
        last[ids] = at
        final.update(zip(ids.tolist(), rows["amount"].to_pylist(), strict=True))
    arrived = np.empty(count, np.int64)
    arrived[table["id"].to_numpy()] = table["arrival"].to_numpy()
    return {
        "final": final,
        "seconds_to_first": round(float((first - arrived).mean()) / SECOND, 2),
        "seconds_to_last": round(float((last - arrived).mean()) / SECOND, 2),
        "changed_later": round(float((last > first).mean()), 4),
        "rows_out_per_row": round(said / count, 3),
        "held": held,
        "rows_per_second": round(count / spent),
    }


def without_marks(rows: pa.Table) -> pa.Table:
    """Drop the columns of changes: for ordered rows, a changelog has only inserts."""
    return rows.select([name for name in rows.column_names if name[0] != "_"])


def cluster(rows: int) -> Iterator[dict[str, Any]]:
    texts = documents(min(400, rows // 250), 5_000, 150, 1)
    one = capacity(texts, Cluster())
    for share in (0.1, 0.3, 0.6, 0.9, 1.8):
        for workers in range(1, 11):
            found = arrivals(texts, workers, share * one, Cluster(), 2)
            ratio = one_by_one(found) / len(found)
            yield {
                "benchmark": "cluster",
                "documents_per_second": round(share * one, 1),
                "workers": workers,
                "load": round(share / workers, 3),
                "out_of_order": round(out_of_order(found), 4),
                "ratio": round(ratio, 3),
                "in_batches": round(indexed(texts, found, 500) / len(found), 3),
            }


def steps(rows: int) -> Iterator[dict[str, Any]]:
    for kind, fraction, number in product(FUNCTIONS, (0.01, 0.1), (1, 2, 3)):
        table = payments(rows, fraction)
        finals = []
        # Compile everything before the measurements.
        compiled.COMPILED_FROM = 0
        run(payments(3_000, 0.1), number, "changelog", kind)
        for way in ("changelog", "barrier", "buffer", "buffers"):
            found = run(table, number, way, kind)
            finals.append(found.pop("final"))
            words = {"benchmark": "steps", "kind": kind, "steps": number, "way": way}
            yield words | {"out_of_order": fraction, **found}
        assert all(final == finals[0] for final in finals)


def batches(rows: int) -> Iterator[dict[str, Any]]:
    table = payments(rows // 5, 0.1, "uniform:10ms:5s")
    compiled.COMPILED_FROM = 0
    run(payments(3_000, 0.1), 2, "changelog", "change")
    for seconds in (0.01, 0.1, 1.0, 10.0):
        found = run(table, 2, "changelog", "change", seconds)
        yield {
            "benchmark": "batches",
            "rows_per_batch": round(1_000 * seconds),
            "rows_out_per_row": found["rows_out_per_row"],
            "rows_per_second": found["rows_per_second"],
        }


ITEM = pa.schema([("time", pa.int64()), ("amount", pa.int64()), *MARKS])
TOTAL = pa.schema([("total", pa.int64())])


def added(total: int, row: Any) -> tuple[int, int]:
    return total + row.amount, total + row.amount


def items(times: np.ndarray) -> pa.Table:
    nothing = np.zeros(len(times), np.int64)
    columns = (times, times % 100, np.ones(len(times), np.int8), nothing, nothing, nothing)
    return pa.table([*map(pa.array, columns)], schema=ITEM)


def started(every: int, chunks: MemoryChunks) -> StateUpdater:
    return Stateful(TIME, (), added, 0, TOTAL, every).start(ITEM, chunks)


def snapshots(_rows: int) -> Iterator[dict[str, Any]]:
    count = 20_000
    for every in (1, 4, 16, 64, 256, count):
        for behind in (10, 1_000):
            chunks = MemoryChunks()
            running = started(every, chunks)
            running.push(items(2 * np.arange(count)))
            before, stragglers = running.updates, 20
            began = time.process_time()
            for number in range(stragglers):
                running.push(items(np.array([2 * (count - behind - 7 * number) + 1])))
            spent = time.process_time() - began
            running.save()
            yield {
                "benchmark": "snapshots",
                "every": every,
                "behind": behind,
                "updates_per_straggler": round((running.updates - before) / stragglers),
                "ms_per_straggler": round(1_000 * spent / stragglers, 2),
                "bytes_per_row": round(
                    sum(chunk.nbytes for chunk in chunks.batches.values()) / count
                ),
            }


def speed(rows: int) -> Iterator[dict[str, Any]]:
    # Compiled or not, holding rows takes most of the time; large micro-batches show the rest.
    table = payments(rows, 0.0)
    for way, least in (("called", 1 << 60), ("compiled", 0)):
        compiled.COMPILED_FROM = least
        run(table.slice(0, 5_000), 1, "changelog")
        # The first run gets its memory from the system, which a query that goes on does once.
        found = [run(table, 1, "changelog", seconds=20.0) for _ in range(3)]
        rate = max(each["rows_per_second"] for each in found)
        yield {"benchmark": "compiled", "way": way, "rows_per_second": rate}


def spark(rows: int) -> Iterator[dict[str, Any]]:
    """Run a stream of files, whose micro-batches have 10 s of arrivals each."""
    session = lc.session("optimistic", config={"spark.sql.shuffle.partitions": "4"})
    session.sparkContext.setLogLevel("ERROR")
    for fraction in (0.01, 0.1):
        table = payments(rows, fraction).drop(["arrival"])
        with tempfile.TemporaryDirectory() as directory:
            write_micro_batches(table, f"{directory}/rows", max(2, rows // 10_000))
            schema = session.read.parquet(f"{directory}/rows").schema
            reader = session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            for way in ("changelog", "barrier", "sort"):
                df = reader.parquet(f"{directory}/rows")
                counted: list[int] = []
                query = on_spark(df, way).start(
                    {
                        "ready": lambda out, _, into=counted: into.append(out.count()),
                        "late": lambda *_: None,
                    },
                    checkpoint=f"{directory}/{way}",
                    trigger={"availableNow": True},
                    end="flush",
                )
                batches = [p.batchDuration for p in query.recentProgress if p.numInputRows]
                yield {
                    "benchmark": "spark",
                    "way": way,
                    "out_of_order": fraction,
                    "ratio": round(sum(counted) / rows, 3),
                    "micro_batches": len(batches),
                    "ms_per_micro_batch": round(float(np.median(batches))),
                }
    session.stop()


def on_spark(rows: Any, way: str) -> Any:
    events = lc.disordered(rows, time="time", unit="us", key="account")
    if way == "sort":
        return events.sort(wait=f"{WAIT} seconds")
    columns = "id long, shop long, region long, amount long"
    made = events.optimistic(wait=f"{WAIT} seconds").stateful(
        by_account, initial=0, outputs=columns
    )
    made = made.stateful(
        by_shop, key="shop", initial=0, outputs="id long, region long, amount long"
    )
    return made.barrier() if way == "barrier" else made.changelog()


PARTS = {
    "cluster": cluster,
    "steps": steps,
    "batches": batches,
    "snapshots": snapshots,
    "compiled": speed,
    "spark": spark,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    for name, part in PARTS.items():
        if args.only in (None, name):
            for line in part(args.rows):
                told = (
                    json.dumps(line)
                    if args.json
                    else "  ".join(f"{k} {v}" for k, v in line.items())
                )
                print(told, flush=True)


if __name__ == "__main__":
    main()

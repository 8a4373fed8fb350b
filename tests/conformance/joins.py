"""The kinds of window joins: K-slack, Synchronizer, the join, and all three in sequence.

Results of the same time may come in any order, so a difference in that order is no failure.
"""

import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.window_join.equalities import Equalities, Pair
from latecomer.operators.window_join.joiner import Probes, WindowJoin, WindowJoiner
from latecomer.operators.window_join.known_rows import KnownRows
from latecomer.operators.window_join.reordering import Arrivals, Reordering
from latecomer.operators.window_join.tuples import Tuples
from latecomer.time import NEVER

Vector = dict[str, Any]


def k_slack(vector: Vector) -> dict[str, Any]:
    """Run one stream, arrival by arrival; the wait may change between arrivals."""
    arrivals, wait = vector["arrivals"], vector["params"]["k"]
    waits = dict([[0, wait]] if isinstance(wait, int) else wait)
    buffer, out, delays, newest = Reordering(1), Tuples.none(), [], NEVER
    for number, (_, time, _) in enumerate(arrivals):
        wait = waits.get(number, wait)
        out += buffer.push(came([[0, time, None]], number), wait)
        newest = max(newest, time)
        delays.append(newest - time)
    reached = np.maximum.accumulate(out.times)
    return {
        "delays": delays,
        "order": [arrivals[row][1:] for row in out.rows],
        "output_delays": (reached - out.times).tolist(),
        "held": by_time(arrivals[row][1:] for row in buffer.held.rows),
    }


def by_time(rows: Iterable[list[Any]]) -> list[list[Any]]:
    return sorted(rows, key=lambda row: row[-2])


def synchronizer(vector: Vector) -> dict[str, Any]:
    """Run tuples of several streams, one by one."""
    arrivals = vector["arrivals"]
    buffer = Reordering(vector["params"]["streams"])
    out: list[list[Any]] = []
    per_arrival, clocks = [], []
    for number in range(len(arrivals)):
        # Without a wait, this is the Synchronizer alone.
        rows = buffer.push(came(arrivals[number : number + 1], number), 0).rows
        some = [arrivals[row] for row in rows]
        out += some
        per_arrival.append([row[2] for row in some])
        # The paper's clock starts at 0; ours starts before every time.
        clocks.append(0 if buffer.clock == NEVER else buffer.clock)
    held = by_time(arrivals[row] for row in buffer.held.rows)
    return {"order": out, "per_arrival": per_arrival, "t_sync": clocks, "held": held}


def window_join(vector: Vector) -> dict[str, Any]:
    """Run the join alone, with tuples in the order of the vector."""
    arrivals, params = vector["arrivals"], vector["params"]
    known, joiner = started(arrivals, params)
    seen = joiner.push(received(arrivals, 0, len(arrivals)), known)
    expected = vector["expected"]["results"]
    told = results(arrivals, seen)
    return {
        "results": expected if same(told, expected) else told,
        "in_order": seen.in_order.tolist(),
        "cross": or_null(seen.cross, seen),
        "joined": or_null(seen.joined, seen),
    }


def pipeline(vector: Vector) -> dict[str, Any]:
    """Run K-slack, Synchronizer and join; the true results come from the same rows in order."""
    arrivals, params = vector["arrivals"], vector["params"]
    expected = vector["expected"]
    put_in, got = run(arrivals, params, params["ks"])
    true = true_results(arrivals, params)
    told = [arrivals[row] for row in put_in.rows]
    return {
        "join_input": expected["join_input"] if same(told, expected["join_input"]) else told,
        "results": sorted(got, key=str_key),
        "produced": len(got),
        "true": len(true),
        "recall": round(len(got) / len(true), 6),
        "true_results": sorted(true, key=str_key),
    }


def same_k(vector: Vector) -> dict[str, Any]:
    """Run with different waits, and with one wait for all streams (Theorem 1)."""
    arrivals, params = vector["arrivals"], vector["params"]
    many = len(params["ks"])
    _, own = run(arrivals, params, params["ks"])
    _, common = run(arrivals, params, [params["same_k"]] * many)
    _, none = run(arrivals, params, [0] * many)
    own, common = sorted(own, key=str_key), sorted(common, key=str_key)
    return {
        "results": own if own == common else [own, common],
        "produced": len(own),
        "produced_with_k0": len(none),
        "true": len(true_results(arrivals, params)),
    }


def true_results(arrivals: list[list[Any]], params: dict[str, Any]) -> list[list[Any]]:
    """Join the same tuples in order of time."""
    ordered = sorted(arrivals, key=lambda row: row[1])
    known, joiner = started(ordered, params)
    return results(ordered, joiner.push(received(ordered, 0, len(ordered)), known))


def run(
    arrivals: list[list[Any]], params: dict[str, Any], waits: list[int]
) -> tuple[Tuples, list[list[Any]]]:
    """Run tuples through all three, one by one; return the input of the join, and its results."""
    buffers, together = [Reordering(1) for _ in waits], Reordering(len(waits))
    put_in = Tuples.none()
    for number, (stream, time, _) in enumerate(arrivals):
        some = buffers[stream].push(came([[0, time, None]], number), waits[stream])
        streams = np.full(len(some), stream)
        put_in += together.push(Arrivals(streams, some.times, some.rows), 0)
    known, joiner = started(arrivals, params)
    return put_in, results(arrivals, joiner.push(put_in, known))


def started(arrivals: list[list[Any]], params: dict[str, Any]) -> tuple[KnownRows, WindowJoiner]:
    """Start the join of a vector, with the rows of its streams, numbered in order of arrival."""
    many = len(params["windows"])
    on, where = condition(params["condition"], many)
    own = [[at for at, row in enumerate(arrivals) if row[0] == stream] for stream in range(many)]
    tables = [table([arrivals[at][2] for at in some], params) for some in own]
    known = KnownRows(on, tables, [np.array(some, np.int64) for some in own])
    return known, WindowJoin(tuple(params["windows"]), on, where).start()


def table(values: list[Any], params: dict[str, Any]) -> pa.Table:
    """Return values as columns; each item of a list has a column."""
    if params["condition"]["type"] in ("distance", "expr"):
        pairs = [value if isinstance(value, list) else [value, 0] for value in values]
        return pa.table(
            {name: pa.array([float(p[i]) for p in pairs], "f8") for i, name in enumerate("xy")}
        )
    lists = [value if isinstance(value, list) else [value] * 3 for value in values]
    columns = {f"a{i}": [json.dumps(each[i]) for each in lists] for i in range(3)}
    return pa.table({name: pa.array(column, "string") for name, column in columns.items()})


def condition(asked: dict[str, Any], many: int) -> tuple[Equalities, Condition | None]:
    """Return the condition of a vector."""
    if asked["type"] == "equal":
        return Equalities.common(*["a0"] * many), None
    if asked["type"] == "star":
        pairs = (Pair(0, f"a{i - 1}", i, f"a{i - 1}") for i in range(1, many))
        return Equalities(many, tuple(pairs)), None
    if asked["type"] == "distance":
        limit = asked["less_than"]
        return Equalities(2), Condition(
            lambda a, b: ((a.x - b.x) ** 2 + (a.y - b.y) ** 2) ** 0.5 < limit
        )
    if asked["type"] == "expr":
        code = compile(asked["expr"], "vector", "eval")
        return Equalities(many), Condition(
            lambda *rows: eval(code, {"v": [row.x for row in rows]})  # noqa: S307 - our own facts
        )
    return Equalities(many), None


def came(rows: list[list[Any]], first: int) -> Arrivals:
    """Return rows as arrivals, numbered from `first`."""
    streams, times = (np.array([row[i] for row in rows], np.int64) for i in range(2))
    return Arrivals(streams, times, np.arange(first, first + len(rows)))


def received(arrivals: list[list[Any]], start: int, stop: int) -> Tuples:
    """Return arrivals as tuples whose row numbers are their positions."""
    some = arrivals[start:stop]
    streams, times = (np.array([row[i] for row in some], np.int64) for i in range(2))
    return Tuples(streams, times, np.arange(start, stop), np.zeros(len(some), np.int64))


def results(arrivals: list[list[Any]], seen: Probes) -> list[list[Any]]:
    """Return results in the form of vectors."""
    return [
        [time, [arrivals[row][2] for row in rows]]
        for time, rows in zip(seen.times.tolist(), seen.results.tolist(), strict=True)
    ]


def same(told: list[Any], expected: list[Any]) -> bool:
    """Compare two lists, ignoring the order of neighbours of equal time."""
    return in_one_order(told) == in_one_order(expected)


def in_one_order(rows: list[Any]) -> list[Any]:
    """Sort neighbours of equal time, which comes first in results and second in tuples."""
    runs = groupby(rows, key=lambda row: row[0] if isinstance(row[1], list) else row[1])
    return [row for _, some in runs for row in sorted(some, key=str)]


def or_null(counts: np.ndarray, seen: Probes) -> list[int | None]:
    return [int(n) if ok else None for n, ok in zip(counts, seen.in_order, strict=True)]


def str_key(result: list[Any]) -> tuple[int, str]:
    return result[0], str(result[1])

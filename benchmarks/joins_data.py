"""The three data sets of Section VI, and the query that is asked of each.

    D×3, D×4    as `latecomer simulate` makes them; see `latecomer.generate.join_streams`
    match       two streams of players' positions, one for each team: who comes within 5 m of an
                opponent within 5 s?

The paper's match is not public. Ours is the first half of a match of 2019 that SkillCorner has
published and the package kloppy carries among its test files: 46 minutes, ten frames a second, but
none in a third of the time, where the broadcast showed something else; 231,640 positions.

It has no arrivals. Our generator delays it so that what the paper tells of its own match holds
(Section VI): delays up to 22 and 26 s, a recall of about one half without a wait, and a Max-K-slack
of 20 s. Every second position comes out of order, by 200 ms on average; two in a thousand by 4 s on
average, and by up to 26 s.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import latecomer as lc
from latecomer.generate.join_streams import join_streams
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.window_join.equalities import Equalities, Pair
from latecomer.operators.window_join.held_rows import HeldRows
from latecomer.operators.window_join.joiner import WindowJoin
from latecomer.operators.window_join.reordering import Arrivals
from latecomer.operators.window_join.result_size_monitor import ResultSizeMonitor
from latecomer.operators.window_join.tuples import Tuples
from latecomer.time import Times

SECOND = 1_000_000
MINUTE = 60 * SECOND
FRAME = SECOND // 10
RARE, LONG = 0.002, "exponential:4s:0s:26s"
OFTEN, SHORT = 0.5, "exponential:200ms"


def is_near(one: Any, other: Any) -> bool:
    return ((one.x - other.x) ** 2 + (one.y - other.y) ** 2) ** 0.5 < 5


QUERIES = {
    "D×3": WindowJoin((5 * SECOND,) * 3, Equalities.common("a1", "a1", "a1")),
    "D×4": WindowJoin(
        (3 * SECOND,) * 4,
        Equalities(4, tuple(Pair(0, f"a{i}", i, f"a{i}") for i in (1, 2, 3))),
    ),
    "match": WindowJoin((5 * SECOND,) * 2, Equalities(2), Condition(is_near)),
}


@dataclass(frozen=True)
class Data:
    """Streams, what is asked of them, and the answer."""

    name: str
    seed: int
    query: WindowJoin
    arrivals: Arrivals
    tables: list[pa.Table]
    true: ResultSizeMonitor


def made(name: str, seed: int, minutes: float) -> Data:
    """Make the streams, as many minutes of them as asked for."""
    if name == "match":
        tables = [_delayed(team, 2 * seed + i) for i, team in enumerate(_match())]
    else:
        tables = list(join_streams(3 if name == "D×3" else 4, seed=seed, minutes=minutes).values())
    comes = [table["arrival"].cast(pa.int64()).to_numpy() for table in tables]
    until = min(each[0] for each in comes) + minutes * MINUTE
    tables = [
        table.slice(0, int((c < until).sum())) for table, c in zip(tables, comes, strict=True)
    ]
    times, comes = (
        [table[column].cast(pa.int64()).to_numpy() for table in tables]
        for column in ("time", "arrival")
    )
    arrivals = in_order_of_arrival(times, comes)
    tables = [table.drop(["time", "arrival"]) for table in tables]
    query = QUERIES[name]
    return Data(name, seed, query, arrivals, tables, _true_results(query, arrivals, tables))


def _true_results(
    query: WindowJoin, arrivals: Arrivals, tables: list[pa.Table]
) -> ResultSizeMonitor:
    """Join the same tuples in order of time."""
    joiner, known = query.start("counts"), rows_of(tables, query).known(query.on)
    found = ResultSizeMonitor()
    order = np.argsort(arrivals.times, kind="stable")
    for some in np.array_split(order, max(len(order) // 1_000, 1)):
        part = arrivals.take(some)
        tuples = Tuples(part.streams, part.times, part.rows, np.zeros(len(some), np.int64))
        found.add(part.times, joiner.push(tuples, known).joined)
    return found


def in_order_of_arrival(times: Sequence[Times], arrivals: Sequence[Times]) -> Arrivals:
    """Put the tuples of all streams into one order of arrival; those of one arrival by stream."""
    streams = np.concatenate([np.full(len(each), i) for i, each in enumerate(times)])
    rows = np.concatenate([np.arange(len(each)) for each in times])
    order = np.argsort(np.concatenate(list(arrivals)), kind="stable")
    return Arrivals(streams, np.concatenate(list(times)), rows).take(order)


def rows_of(tables: Sequence[pa.Table], query: WindowJoin) -> HeldRows:
    """Hold the rows of all streams, of which the join reads some columns."""
    where = query.where
    schemas = [table.schema for table in tables]
    read = [[] for _ in schemas] if where is None else where.columns(schemas)
    columns = [[*query.on.columns(stream), *names] for stream, names in enumerate(read)]
    rows = HeldRows(schemas, columns)
    for stream, table in enumerate(tables):
        rows.add(stream, table)
    return rows


def _delayed(team: pa.Table, seed: int) -> pa.Table:
    how = {"time": "time", "unit": "us", "seed": seed}
    rarely = lc.inject_disorder(team, fraction=RARE, delay=LONG, **how)
    names = ["came" if name == "arrival" else name for name in rarely.column_names]
    rarely = rarely.rename_columns(names)
    return lc.inject_disorder(rarely, fraction=OFTEN, delay=SHORT, arrival="came", **how).drop(
        ["came"]
    )


@cache
def _match() -> list[pa.Table]:
    """Read the positions of the home team's players, and of the away team's, in order of time."""
    kloppy = find_spec("kloppy")
    if kloppy is None or kloppy.origin is None:
        message = "the match is in the package kloppy, which is not installed.\n"
        raise SystemExit(message + "Hint: uv sync --group match, or leave it out with --data.")
    files = Path(kloppy.origin).parent / "tests" / "files"
    about = json.loads((files / "skillcorner_match_data.json").read_text())
    home = about["home_team"]["id"]
    teams = {each["trackable_object"]: each["team_id"] == home for each in about["players"]}
    rows: dict[bool, list[tuple[int, int, float, float]]] = {True: [], False: []}
    for frame in json.loads((files / "skillcorner_structured_data.json").read_text()):
        for seen in frame["data"] if frame["period"] == 1 else ():
            # The ball, the referees and whoever was not recognised are of no team.
            player = seen.get("trackable_object")
            if player in teams:
                row = (frame["frame"] * FRAME, player, seen["x"], seen["y"])
                rows[teams[player]].append(row)
    names = ("time", "player", "x", "y")
    return [
        pa.table(dict(zip(names, map(np.array, zip(*some, strict=True)), strict=True)))
        for some in rows.values()
    ]

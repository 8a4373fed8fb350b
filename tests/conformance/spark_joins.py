"""Window joins on Spark: a vector is one micro-batch, with a column for the order of arrival.

A window join emits only its results. A vector also expects which tuples the join received and which
results each of them had. `Telling` is a join that emits exactly that. It runs in a stage on Spark
with the same rows, buffers and states as the join. The true results are those of the unmodified
join, on the same rows as a batch.

Vectors with the same join share one query, a micro-batch each. Their times are shifted to be after
those of the vectors before. Output after the micro-batch of a vector is ignored, because vectors do
not flush.
"""

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

import latecomer as lc
from latecomer.operators.base import Chunks
from latecomer.operators.window_join import loop
from latecomer.operators.window_join.joiner import Probes
from latecomer.operators.window_join.quality_join import QualityJoin
from latecomer.operators.window_join.quality_joiner import Joined, QualityJoiner
from latecomer.operators.window_join.reordering import Arrivals, Reordering
from latecomer.operators.window_join.tuples import Tuples
from tests.conformance import joins
from tests.conformance.applicable import Vector
from tests.conformance.lanes import one_partition
from tests.support.streaming import source

CAME = "came"
PROBES = pa.schema(
    [
        (CAME, pa.int64()),
        ("in_order", pa.bool_()),
        ("cross", pa.int64()),
        ("results", pa.list_(pa.list_(pa.int64()))),
    ]
)
"""Columns for each tuple that the join received: its number, whether it was in order, the number of
results of a cross join, and the tuples of each of its results."""


@dataclass(frozen=True, slots=True)
class Telling(QualityJoin):
    """A window join that emits the tuples that it received, with their results."""

    is_direct: bool = False
    """Whether the join receives rows in order of arrival, without buffers before it."""

    def output_schema(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        return PROBES

    def start(
        self, schemas: Sequence[pa.Schema], chunks: Chunks, saved: bytes | None
    ) -> QualityJoiner:
        if not self.is_direct:
            return TellingJoiner(self, schemas, chunks, saved)
        with patch.object(loop, "Reordering", NoReordering):
            return TellingJoiner(self, schemas, chunks, saved)


class NoReordering(Reordering):
    """Passes rows on without a buffer."""

    def push(self, arrivals: Arrivals, wait: int) -> Tuples:
        nothing = np.zeros(len(arrivals), np.int64)
        return Tuples(arrivals.streams, arrivals.times, arrivals.rows, nothing)


class TellingJoiner(QualityJoiner):
    """A running `Telling`."""

    def _as_rows(self, probes: Probes) -> Joined:
        tuples = probes.tuples
        came = np.empty(len(tuples), np.int64)
        members = np.empty(probes.results.shape, np.int64)
        for stream in range(probes.results.shape[1]):
            at = np.flatnonzero(tuples.streams == stream)
            came[at] = self._numbers(stream, tuples.rows[at])
            members[:, stream] = self._numbers(stream, probes.results[:, stream])
        # Results are in the order of the tuples that completed them.
        ends = np.cumsum(probes.joined.astype(np.int64))
        found = [part.tolist() for part in np.split(members, ends[:-1])] if len(ends) else []
        columns = [came, probes.in_order, probes.cross.astype(np.int64), found]
        return Joined(pa.table([pa.array(column) for column in columns], PROBES.names).cast(PROBES))

    def _numbers(self, stream: int, rows: np.ndarray) -> np.ndarray:
        return self._rows.gather(stream, rows).column(CAME).to_numpy()


def asked(vector: Vector) -> tuple[Any, ...]:
    """Return the parameters that vectors of one query must share."""
    params = vector["params"]
    return params["windows"], params["condition"], params.get("ks"), params.get("same_k")


def window_join(vectors: list[Vector]) -> list[dict[str, Any]]:
    """Run the join alone, with tuples in the order of each vector."""
    results = []
    for vector, tuples in zip(vectors, told(vectors, 0, is_direct=True), strict=True):
        arrivals, expected = vector["arrivals"], vector["expected"]["results"]
        got = results_of(arrivals, tuples)
        results.append(
            {
                "results": expected if joins.same(got, expected) else got,
                "in_order": [each["in_order"] for each in tuples],
                "cross": [each["cross"] if each["in_order"] else None for each in tuples],
                "joined": [len(each["results"]) if each["in_order"] else None for each in tuples],
            }
        )
    return results


def pipeline(vectors: list[Vector]) -> list[dict[str, Any]]:
    """Run the whole join with one wait for all streams."""
    (wait,) = {wait for vector in vectors for wait in vector["params"]["ks"]}
    results = []
    for vector, tuples in zip(vectors, told(vectors, wait), strict=True):
        arrivals, expected = vector["arrivals"], vector["expected"]["join_input"]
        put_in = [arrivals[each[CAME]] for each in tuples]
        got, true = results_of(arrivals, tuples), true_results(vector)
        results.append(
            {
                "join_input": expected if joins.same(put_in, expected) else put_in,
                "results": sorted(got, key=joins.str_key),
                "produced": len(got),
                "true": len(true),
                "recall": round(len(got) / len(true), 6),
                "true_results": true,
            }
        )
    return results


def same_k(vectors: list[Vector]) -> list[dict[str, Any]]:
    """Run with one wait for all streams, and without. A stream has no wait of its own here."""
    wait = vectors[0]["params"]["same_k"]
    both = zip(vectors, told(vectors, wait), told(vectors, 0), strict=True)
    results = []
    for vector, with_wait, without in both:
        got = sorted(results_of(vector["arrivals"], with_wait), key=joins.str_key)
        results.append(
            {
                "results": got,
                "produced": len(got),
                "produced_with_k0": len(results_of(vector["arrivals"], without)),
                "true": len(true_results(vector)),
            }
        )
    return results


def results_of(arrivals: list[list[Any]], tuples: list[dict[str, Any]]) -> list[list[Any]]:
    """Return results in the form of vectors."""
    found = [members for each in tuples for members in each["results"]]
    return [
        [max(arrivals[i][1] for i in members), [arrivals[i][2] for i in members]]
        for members in found
    ]


def told(
    vectors: list[Vector], wait: int, *, is_direct: bool = False
) -> list[list[dict[str, Any]]]:
    """Run vectors with the same join; return for each the tuples that the join received."""
    params = vectors[0]["params"]
    streams = len(params["windows"])
    batches: list[list[pa.Table]] = [[] for _ in range(streams)]
    newest = 0
    for vector in vectors:
        times = [row[1] for row in vector["arrivals"]]
        gap = newest + 2 * (max(params["windows"]) + wait) + 1 - min(times)
        for stream, into in enumerate(batches):
            into.append(table(vector["arrivals"], params, stream, gap))
        newest = max(times) + gap
    session = lc.session()
    found: dict[int, list[dict[str, Any]]] = {}

    def keep(df: DataFrame, number: int) -> None:
        found[number] = [row.asDict() for row in df.collect()]

    with tempfile.TemporaryDirectory() as directory, one_partition(session):
        dfs = [source(session, some, f"{directory}/{i}") for i, some in enumerate(batches)]
        join = joined(dfs, params, wait)
        (stage,) = join.plan.stages
        assert stage.join is not None
        own = {f.name: getattr(stage.join.operator, f.name) for f in fields(stage.join.operator)}
        telling = replace(stage.join, operator=Telling(**own, is_direct=is_direct))
        join = replace(join, plan=join.plan.with_last(replace(stage, join=telling)))
        late = {"late": _ignored} | {f"late_{i}": _ignored for i in range(1, streams)}
        join.start(
            {"ready": keep, **late},
            checkpoint=f"{directory}/checkpoint",
            trigger={"availableNow": True},
        ).awaitTermination()
    return [found.get(number, []) for number in range(len(vectors))]


def _ignored(df: DataFrame, number: int) -> None:
    """Ignore late rows: `Telling` has already emitted them."""


def true_results(vector: Vector) -> list[list[Any]]:
    """Join the rows of a vector as batches, which misses no result."""
    arrivals, params = vector["arrivals"], vector["params"]
    session = lc.session()
    with one_partition(session):
        dfs = [
            session.createDataFrame(table(arrivals, params, stream))
            for stream in range(len(params["windows"]))
        ]
        names = [f"s{stream}_{CAME}" for stream in range(len(dfs))]
        found = joined(dfs, params, 0).to_df().select(*names).collect()
    results = results_of(arrivals, [{"results": [list(row) for row in found]}])
    return sorted(results, key=joins.str_key)


def table(arrivals: list[list[Any]], params: dict[str, Any], stream: int, gap: int = 0) -> pa.Table:
    """Return the rows of one stream, with their order of arrival."""
    own = [(came, row) for came, row in enumerate(arrivals) if row[0] == stream]
    values = joins.table([row[2] for _, row in own], params)
    times = pa.array([row[1] + gap for _, row in own], pa.int64())
    return values.append_column("time", times).append_column(
        CAME, pa.array([came for came, _ in own], pa.int64())
    )


def joined(dfs: list[DataFrame], params: dict[str, Any], wait: int) -> lc.JoinedStream:
    """Return the join of a vector."""
    streams = {
        f"s{number}": lc.disordered(df, time="time", arrival=CAME, unit="ms")
        for number, df in enumerate(dfs)
    }
    within = dict(zip(streams, (f"{window} ms" for window in params["windows"]), strict=True))
    on, where = condition(params["condition"], len(dfs))
    return lc.window_join(streams, within=within, on=on, where=where, wait=f"{wait} ms", buckets=1)


def condition(
    asked: dict[str, Any], streams: int
) -> tuple[str | list[tuple[str, str]] | None, Callable[..., bool] | None]:
    """Return the condition of a vector, in the form that users pass."""
    match asked["type"]:
        case "equal":
            return "a0", None
        case "star":
            return [(f"s0.a{i - 1}", f"s{i}.a{i - 1}") for i in range(1, streams)], None
        case "distance":
            limit = float(asked["less_than"])
            return None, lambda a, b: ((a.x - b.x) ** 2 + (a.y - b.y) ** 2) ** 0.5 < limit
        case "expr":
            names = ", ".join(f"s{i}" for i in range(streams))
            text = re.sub(r"v\[(\d+)\]", r"s\1.x", asked["expr"])
            return None, eval(f"lambda {names}: {text}")  # noqa: S307 - our own facts
    return None, None

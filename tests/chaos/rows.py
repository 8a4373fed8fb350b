"""Random rows for the plans of the catalogue, cut into micro-batches."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.chaos.world import START

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from tests.chaos.catalogue import Entry

KEYS = ["a", "b", "c", None]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=START)


def draw(rng: random.Random, entry: Entry, batches: int) -> list[list[pa.Table]]:
    """Draw the micro-batches of each stream: disordered, some rows late, some without a time."""
    ids = iter(range(1 << 30))
    streams = [_stream(rng, entry, schema, ids, batches) for schema in entry.schemas]
    time = _time(0)
    for number in range(batches):
        # Spark runs no micro-batch without rows, and rows without a time reach no bucket.
        if not any(row["time"] for each in streams for row in each[number]):
            row = _row(rng, entry, next(ids), 0, None)
            streams[0][number].append(row | {"time": time, "begin": time, "end": None})
        time = max([time, *(row["time"] for row in streams[0][number] if row["time"])])
    return [
        [pa.Table.from_pylist(rows, schema) for rows in each]
        for each, schema in zip(streams, entry.schemas, strict=True)
    ]


def _stream(
    rng: random.Random,
    entry: Entry,
    schema: pa.Schema,
    ids: Iterator[int],
    batches: int,
) -> list[list[dict[str, Any]]]:
    at, found = 0, []
    disorder = 0 if entry.is_ordered else rng.choice([2, 6, 15])
    open_: list[dict[str, Any]] = []
    for _ in range(batches):
        rows: list[dict[str, Any]] = []
        for _ in range(rng.choice([0, 2, 5, 9])):
            time = at + rng.randint(-disorder, 3 if disorder else 0)
            if "begin" in schema.names:
                rows.append(_begin_or_end(rng, time, open_))
                continue
            at += rng.choice([0, 0, 1])
            rows.append(_row(rng, entry, next(ids), time, at if not disorder else None))
        found.append(rows)
        at += rng.choice([0, 2, 5, 9])
    return found


def _row(
    rng: random.Random, entry: Entry, number: int, time: int, ordered: int | None
) -> dict[str, Any]:
    time = time if ordered is None else ordered
    if rng.random() < 0.05 and ordered is None:
        time += rng.choice([-60, 60 if entry.plan.source.ahead else -60])
    apart = timedelta(milliseconds=number % 997 if entry.has_lifetimes else 0)
    is_null = rng.random() < 0.03 and entry.plan.late != "raise"
    lasting = rng.choice([None, 0, 1, 2, 3, 5, 9])
    return {
        "id": number,
        "time": None if is_null else _time(time) + apart,
        "end": None if lasting is None else _time(time + lasting) + apart,
        "k": rng.choice(KEYS),
        "v": (value := rng.choice([None, *range(-3, 9)])),
        "w": value,
        "_lc_a": rng.random() < 0.4,
        "_lc_b": rng.random() < 0.4,
    }


def _begin_or_end(rng: random.Random, time: int, open_: list[dict[str, Any]]) -> dict[str, Any]:
    """Begin a lifetime, or end one that has begun."""
    if open_ and rng.random() < 0.5:
        begun = open_.pop(rng.randrange(len(open_)))
        end = max(begun["begin"] + timedelta(seconds=1), _time(time))
        return {**begun, "time": end, "end": end}
    begun = {"time": _time(time), "begin": _time(time), "end": None, "k": rng.choice(KEYS)}
    open_.append(begun)
    return begun


def _time(seconds: int) -> datetime:
    return EPOCH + timedelta(seconds=seconds)

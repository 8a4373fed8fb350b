"""Chains of optimistic steps, as a stage runs them, and rows for them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

import pyarrow as pa

from latecomer.hosts.local import MemoryChunks
from latecomer.operators.base import Running
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.time import TimeColumn

TIME = TimeColumn("time", "us")
SCHEMA = pa.schema([("time", pa.int64()), ("key", pa.string()), ("value", pa.int64())])
OUTPUT = pa.schema([("output", pa.string())])

Row = tuple[int, str, int]
Seen = Any
"""A row, as a function receives it."""


def table(rows: Iterable[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


def append(state: str, row: Seen) -> tuple[str, list[tuple[str]]]:
    """Append the row to the state, so that any other order gives another result."""
    state += f"{row.value},"
    return state, [(state,)]


def many(state: int, row: Seen) -> tuple[int, list[str]]:
    """Return none, one or several outputs, and a state that often stays the same."""
    state = max(state, row.value)
    return state, [f"{state}.{i}" for i in range(row.value % 3)]


class Chain:
    """Running steps. The watermark advances before the rows come, as in a first stage."""

    def __init__(self, *specs: Optimistic, schema: pa.Schema = SCHEMA) -> None:
        self.specs, self.schema = specs, schema
        self.chunks = [MemoryChunks() for _ in specs]
        self.late: list[Row] = []
        self.steps = self._started([None] * len(specs))

    def _started(self, saved: Sequence[bytes | None]) -> list[Running]:
        schema, steps = self.schema, []
        for spec, chunks, part in zip(self.specs, self.chunks, saved, strict=True):
            steps.append(spec.start(schema, chunks, part))
            schema = spec.output_schema(schema)
        self.output = schema
        return steps

    def push(self, rows: Iterable[Row]) -> list[dict[str, Any]]:
        emission = self.steps[0].push(table(rows))
        self.late += [tuple(row.values()) for row in emission.late.to_pylist()]
        return self._on(emission.ready, 1)

    def advance(self, watermark: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for at, step in enumerate(self.steps):
            for stop in step.stops(watermark):
                found += self._on(step.advance(stop).ready, at + 1)
        return found

    def restart(self) -> Self:
        """Continue from the saved state."""
        self.steps = self._started([step.save() for step in self.steps])
        return self

    def _on(self, batch: pa.Table, at: int) -> list[dict[str, Any]]:
        for step in self.steps[at:]:
            if not batch.num_rows:
                return []
            batch = step.push(batch).ready
        return batch.to_pylist()


def applied(changes: Iterable[dict[str, Any]]) -> Counter[str]:
    """Apply a changelog to an empty table; a deletion must find its row."""
    rows: Counter[str] = Counter()
    for change in changes:
        row = str({name: v for name, v in change.items() if not name.startswith("_change_")})
        rows[row] += 1 if change["_change_type"] == "insert" else -1
        assert rows[row] >= 0, change
    return +rows


def counted(rows: Iterable[dict[str, Any]]) -> Counter[str]:
    return Counter(map(str, rows))

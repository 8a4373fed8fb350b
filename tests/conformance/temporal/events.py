"""Lifetimes in the form of vectors, and how results are compared."""

import json
from collections.abc import Iterable
from typing import Any

from latecomer.batch import Batch
from latecomer.operators.temporal.edges import Edges
from latecomer.operators.temporal.whole import END, START
from latecomer.time import FOREVER

Event = dict[str, Any]
Lifetime = dict[str, Any]

PAYLOAD, KEY = "p", "key"
DIGITS = 12
"""Number of significant digits of fractional numbers that are compared."""


def time_of(value: int | str) -> int:
    """Read a time."""
    return FOREVER if value == "inf" else int(value)


def encoded(value: object) -> str:
    """Return a payload or a key as text. Equal values give equal text."""
    return json.dumps(value, sort_keys=True)


def lifetimes(ready: Iterable[Batch]) -> list[Lifetime]:
    """Return the lifetimes in the output; begins and ends are matched by their ids."""
    return [lifetime for rows in _whole(list(ready)) for lifetime in rows]


def _whole(batches: list[Batch]) -> Iterable[list[Lifetime]]:
    ends = {
        number: at
        for batch in batches
        if START not in batch.column_names
        for edges in [Edges.of(batch)]
        for number, at in zip(edges.id[edges.is_end], edges.at[edges.is_end], strict=True)
    }
    for batch in batches:
        if START in batch.column_names:
            starts, stops = batch[START].to_pylist(), batch[END].to_pylist()
            payload = batch
        else:
            edges = Edges.of(batch)
            edges = edges.where(~edges.is_end)
            payload, starts = edges.payload, edges.at.tolist()
            known = zip(edges.other.tolist(), edges.id.tolist(), strict=True)
            stops = [min(other, int(ends.get(number, FOREVER))) for other, number in known]
        rows = zip(starts, stops, payload.to_pylist(), strict=True)
        yield [_lifetime(start, stop, row) for start, stop, row in rows]


def _lifetime(start: int, stop: int | None, row: dict[str, Any]) -> Lifetime:
    end = "inf" if stop is None or stop == FOREVER else stop
    key = {KEY: json.loads(row[KEY])} if KEY in row else {}
    return {"start": start, "end": end, "payload": json.loads(row[PAYLOAD])} | key


def comparable(found: Iterable[Lifetime]) -> list[str]:
    """Return lifetimes as sorted text, with rounded numbers."""
    return sorted(encoded(_rounded(lifetime)) for lifetime in found)


def _rounded(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() else float(f"{value:.{DIGITS}g}")
    return value

"""The aggregates, by their names in the vectors.

Each names the columns that it reads, Latecomer's aggregates of them, and the result in the vector.
If Latecomer has no such aggregate, the result is an expression over all values.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from operator import itemgetter
from typing import Any

import pyarrow as pa

from latecomer import agg
from latecomer.operators.aggregates.base import Aggregate
from tests.conformance.applicable import NotApplicableError
from tests.conformance.temporal.events import PAYLOAD, encoded
from tests.conformance.temporal.rows import Column, Row, of_payload, payload

READ = {
    "count": ("where",),
    "count_not_null": ("where", "is_there"),
    "topk": ("where", "value", "ranked"),
}
"""Columns of the aggregates that read other columns than a value."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One aggregate that a vector asks for."""

    asked: dict[str, Any]
    at: int
    """The number of the aggregate: its result is called a0, a1, …"""
    kind: pa.DataType
    """The type of values."""

    @property
    def columns(self) -> list[Column]:
        """The columns to read."""
        value = _of(self.asked)
        known: list[Column] = [
            ("where", pa.bool_(), _where(self.asked)),
            ("value", self.kind, value),
            ("is_there", pa.bool_(), lambda row: None if value(row) is None else True),
            ("ranked", pa.string(), _ranked(value)),
        ]
        read = READ.get(self.asked["fn"], ("where", "value"))
        return [(self._name(part), kind, of) for part, kind, of in known if part in read]

    @property
    def aggregates(self) -> dict[str, Aggregate]:
        """The aggregates, with names."""
        return dict(zip(self._names, self._made()[0], strict=False))

    @property
    def result(self) -> Callable[[Row], Any]:
        """The function that returns the result from the aggregates."""
        function, names = self._made()[1], self._names
        return lambda row: function(*(row[name] for name in names if name in row))

    @property
    def _names(self) -> tuple[str, str]:
        return self._name("result"), self._name("more")

    def _name(self, part: str) -> str:
        return f"{part}_{self.at}"

    def _made(self) -> tuple[list[Aggregate], Callable[..., Any]]:
        value, where = self._name("value"), self._name("where")
        share, k = self.asked.get("percentile", 0), self.asked.get("k", 1)
        largest = agg.top_k(value, k, where=where)
        ranked = agg.collect(self._name("ranked"), where=where)
        known: dict[str, tuple[list[Aggregate], Callable[..., Any]]] = {
            "count": ([agg.count(where=where)], _itself),
            "count_not_null": ([agg.count(self._name("is_there"), where=where)], _itself),
            # Spark's sum of nulls is null; in the vectors it is 0.
            "sum": ([agg.sum(value, where=where)], lambda found: found or 0),
            "average": ([agg.mean(value, where=where)], _itself),
            "min": ([agg.min(value, where=where)], _itself),
            "max": ([agg.max(value, where=where)], _itself),
            "percentile_continuous": ([agg.quantile(value, share, where=where)], _itself),
            "percentile_discrete": (
                [agg.collect(value, where=where)],
                lambda found: _at_share(found, share),
            ),
            "topk": ([largest, ranked], _top),
        }
        name = self.asked["fn"]
        if name not in known:
            raise NotApplicableError(f"there is no aggregate like {name}")
        return known[name]


def _of(asked: dict[str, Any]) -> Callable[[Row], Any]:
    """Return the value of a row; a null payload has none."""
    function, where = of_payload(asked.get("of") or asked.get("by") or PAYLOAD), _where(asked)
    return lambda row: function(row) if payload(row) is not None and where(row) else None


def _where(asked: dict[str, Any]) -> Callable[[Row], bool]:
    text = asked.get("where")
    if text is None:
        return lambda _: True
    function = of_payload(text)
    return lambda row: payload(row) is not None and bool(function(row))


def _ranked(value: Callable[[Row], Any]) -> Callable[[Row], str | None]:
    """Return a function that writes the value by which a row is ranked, and its payload."""
    return lambda row: None if value(row) is None else encoded([value(row), payload(row)])


def _itself(found: Any) -> Any:  # noqa: ANN401 - what is aggregated may be anything
    return found


def _at_share(found: list[Any], share: float) -> Any:  # noqa: ANN401 - as above
    """Return the value at a share of all values, without interpolation."""
    return sorted(found)[max(ceil(share * len(found)) - 1, 0)] if found else None


def _top(largest: list[Any], ranked: list[str]) -> list[dict[str, Any]]:
    """Rank the largest values, including all values equal to the last of them."""
    pairs = [json.loads(text) for text in ranked]
    chosen = [pair for pair in pairs if pair[0] >= largest[-1]]
    chosen.sort(key=itemgetter(0), reverse=True)
    return [
        {"Rank": 1 + sum(other[0] > by for other in chosen), "Payload": value}
        for by, value in chosen
    ]

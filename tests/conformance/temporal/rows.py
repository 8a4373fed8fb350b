"""Python expressions over payloads, as operators on single rows."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch
from latecomer.operators.temporal.edges import FINAL, Edges, edge_schema
from latecomer.operators.temporal.stateless import OfRows
from tests.conformance.temporal.events import PAYLOAD, encoded

Row = dict[str, Any]
"""The columns of a row, and its start as `vs`."""
Column = tuple[str, pa.DataType, Callable[[Row], Any]]

MOST_COPIES = 1 << 16


class UnfitError(Exception):
    """Values are not of the expected type."""


def expression(text: str) -> Callable[..., Any]:
    """Return an expression as a function, whose arguments are the names in it."""
    code = compile(text, text, "eval")
    return lambda **names: eval(code, names)  # noqa: S307 - vectors are part of the tests


def of_payload(text: str) -> Callable[[Row], Any]:
    """Return an expression over a payload and its start as a function of a row."""
    function = expression(text)
    return lambda row: function(p=payload(row), vs=row["vs"])


def payload(row: Row, name: str = PAYLOAD) -> Any:  # noqa: ANN401 - any JSON
    """Return a payload, a key or a group; None if this side of a join has no row."""
    return None if row[name] is None else json.loads(row[name])


class Equality:
    """An equality given by a vector. The first of equal payloads represents all of them.

    The equality must be transitive.
    """

    def __init__(self, text: str) -> None:
        self._are_equal = expression(text)
        self._first: list[Any] = []

    def first(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        """Return the first payload that was equal to this one."""
        for known in self._first:
            if self._are_equal(l=known, r=value):
                return known
        self._first.append(value)
        return value


EQUALITIES = ("equal", "equality", "equals", "comparer")


def equality(asked: dict[str, Any]) -> str | None:
    """Return the equality of a step, as an expression over two payloads."""
    return next((asked[name] for name in EQUALITIES if name in asked), None)


def same(name: str, given: str | None = None) -> Column:
    """Keep a column of text, or rename one."""
    return name, pa.string(), itemgetter(given or name)


@dataclass(frozen=True, slots=True)
class Columns(OfRows):
    """Compute all columns of a row."""

    fixed: ClassVar[tuple[str, ...]] = ()

    columns: tuple[Column, ...]

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return edge_schema(pa.schema([(name, kind) for name, kind, _ in self.columns]))

    def of_rows(self, rows: Batch) -> Batch:
        edges = Edges.of(rows)
        given = list(_rows(edges))
        made = {name: _array(map(of, given), kind) for name, kind, of in self.columns}
        return Edges(edges.at, edges.other, edges.id, pa.table(made)).batch()


@dataclass(frozen=True, slots=True)
class Payloads(OfRows):
    """Compute any number of payloads for a row. Only columns of groups are kept."""

    fixed: ClassVar[tuple[str, ...]] = ()

    of: Callable[[Row], list[Any]]
    groups: tuple[str, ...]

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return edge_schema(pa.schema([(name, pa.string()) for name in (PAYLOAD, *self.groups)]))

    def of_rows(self, rows: Batch) -> Batch:
        edges = Edges.of(rows)
        made = [[encoded(value) for value in self.of(row)] for row in _rows(edges)]
        origin = np.repeat(np.arange(len(made)), [len(found) for found in made])
        copy = np.array([at for found in made for at in range(len(found))], np.int64)
        if copy.max(initial=0) >= MOST_COPIES:
            raise AssertionError(f"more than {MOST_COPIES} rows of one")
        result = edges.take(origin)
        # A begin and its end give the same number of copies, in the same order.
        ids = np.where(result.id == FINAL, FINAL, result.id * MOST_COPIES + copy)
        columns = {PAYLOAD: pa.array([text for found in made for text in found], pa.string())}
        columns |= {name: result.payload.column(name) for name in self.groups}
        return Edges(result.at, result.other, ids, pa.table(columns)).batch()


def _rows(edges: Edges) -> Iterable[Row]:
    starts = np.where(edges.is_end, edges.other, edges.at).tolist()
    for row, start in zip(edges.payload.to_pylist(), starts, strict=True):
        yield row | {"vs": start}


def _array(values: Iterable[Any], kind: pa.DataType) -> pa.Array:
    found = list(values)
    try:
        return pa.array(found, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise UnfitError(f"{found} are not {kind}") from error

"""The part of `pyspark.sql.functions` that Latecomer uses, over Arrow tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

TYPES = {
    "int": pa.int32(),
    "long": pa.int64(),
    "string": pa.string(),
    "binary": pa.binary(),
}


@dataclass(frozen=True)
class Column:
    """An expression: the values of a table at a time of the wall clock, in microseconds."""

    of: Callable[[pa.Table, int], Any]
    name: str

    def alias(self, name: str) -> Column:
        return replace(self, name=name)

    def cast(self, kind: str) -> Column:
        return replace(self, of=lambda rows, now: self.of(rows, now).cast(TYPES[kind]))

    def desc(self) -> Column:
        return self

    def __add__(self, other: Column) -> Column:
        return replace(self, of=lambda rows, now: pc.add(self.of(rows, now), other.of(rows, now)))

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return self._compared(other, pc.equal)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return self._compared(other, pc.not_equal)

    __hash__ = None  # type: ignore[assignment]

    def _compared(self, other: object, how: Callable[..., Any]) -> Column:
        return replace(self, of=lambda rows, now: how(self.of(rows, now), pa.scalar(other)))


def condition(asked: str | Column) -> Column:
    """Parse a condition: a column, or a comparison of a column with a text."""
    if isinstance(asked, Column):
        return asked
    found = re.fullmatch(r"(\w+) = '(\w+)'", asked)
    assert found, asked
    return col(found[1]) == found[2]


def col(name: str) -> Column:
    first, *inner = name.strip("`").split(".")

    def of(rows: pa.Table, _now: int) -> Any:  # noqa: ANN401
        column = rows.column(first).combine_chunks()
        for field in inner:
            column = column.field(field)
        return column

    return Column(of, inner[-1] if inner else first)


def lit(value: Any) -> Column:  # noqa: ANN401
    return Column(lambda rows, _now: pa.repeat(pa.scalar(value), rows.num_rows), str(value))


def current_timestamp() -> Column:
    return Column(lambda rows, now: pa.repeat(pa.scalar(now, pa.int64()), rows.num_rows), "now")


def _element_wise(how: Callable[..., Any]) -> Callable[..., Column]:
    def made(*columns: Column) -> Column:
        return Column(
            lambda rows, now: how(*(each.of(rows, now) for each in columns)), "of several"
        )

    return made


FUNCTIONS = SimpleNamespace(
    col=col,
    lit=lit,
    least=_element_wise(pc.min_element_wise),
    greatest=_element_wise(pc.max_element_wise),
    current_timestamp=current_timestamp,
    # Instants are already microseconds here.
    unix_micros=lambda column: column,
    timestamp_micros=lambda column: column,
)

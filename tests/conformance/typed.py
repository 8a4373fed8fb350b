"""Columns of a vector, with the type that its values have.

A vector is JSON, and says nothing of types: keys may be words or numbers, payloads anything. A
column has the one type that fits all its values; where none does, the values travel as JSON text.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Typed:
    """The type of a column, and how values are written to it and read from it."""

    kind: pa.DataType
    is_text: bool = False
    """Whether values are written as JSON, because no type fits them all."""

    @classmethod
    def of(cls, values: Iterable[Any], *, otherwise: pa.DataType) -> "Typed":
        """Find the type of values; `otherwise` is for a column without any."""
        found = list(values)
        try:
            kind = pa.array(found).type
        except (pa.ArrowException, OverflowError):
            return cls(pa.string(), is_text=True)
        if _is_unknown(kind):
            return cls(
                otherwise if pa.types.is_null(kind) else pa.string(), not pa.types.is_null(kind)
            )
        # Arrow takes 1 and 1.0, or lacking fields, for the same; a vector may not.
        is_same = not _is_unknown(kind) and pa.array(found, kind).to_pylist() == found
        return cls(kind) if is_same else cls(pa.string(), is_text=True)

    def write(self, value: object) -> Any:  # noqa: ANN401 - any JSON
        """Write a value as the column has it."""
        return json.dumps(value, sort_keys=True) if self.is_text else value

    def read(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        """Read a value of the column."""
        return json.loads(value) if self.is_text else value


def _is_unknown(kind: pa.DataType) -> bool:
    """Return True if a part of the type is not known, as in a list of empty lists."""
    if pa.types.is_list(kind):
        return _is_unknown(kind.value_type)
    if pa.types.is_struct(kind):
        return any(_is_unknown(field.type) for field in kind)
    return bool(pa.types.is_null(kind))

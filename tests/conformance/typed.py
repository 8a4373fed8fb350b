"""Typed columns for the values of a vector.

A vector is JSON without types: keys may be text or numbers, and payloads any JSON. A column gets
the one type that fits all its values. If no type does, the values are JSON text.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Typed:
    """The type of a column, and the conversion of values to and from it."""

    kind: pa.DataType
    is_text: bool = False
    """Whether values are written as JSON, because no type fits them all."""

    @classmethod
    def of(cls, values: Iterable[Any], *, otherwise: pa.DataType) -> "Typed":
        """Return the type of values; `otherwise` if there are none."""
        found = list(values)
        try:
            kind = pa.array(found).type
        except (pa.ArrowException, OverflowError):
            return cls(pa.string(), is_text=True)
        if _is_unknown(kind):
            return cls(
                otherwise if pa.types.is_null(kind) else pa.string(), not pa.types.is_null(kind)
            )
        # Arrow does not distinguish 1 from 1.0, or null from missing fields; a vector may.
        is_same = not _is_unknown(kind) and pa.array(found, kind).to_pylist() == found
        return cls(kind) if is_same else cls(pa.string(), is_text=True)

    def write(self, value: object) -> Any:  # noqa: ANN401 - any JSON
        """Convert a value to the type of the column."""
        return json.dumps(value, sort_keys=True) if self.is_text else value

    def read(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        """Convert a value of the column back."""
        return json.loads(value) if self.is_text else value


def _is_unknown(kind: pa.DataType) -> bool:
    """Return True if a part of the type is not known, as in a list of empty lists."""
    if pa.types.is_list(kind):
        return _is_unknown(kind.value_type)
    if pa.types.is_struct(kind):
        return any(_is_unknown(field.type) for field in kind)
    return bool(pa.types.is_null(kind))

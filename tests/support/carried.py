"""Nested columns that a stream only carries along, and that are easily corrupted on the way.

Spark writes a null struct with nulls in all of its fields, also in those that are not nullable.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa

from latecomer.batch import cast

STRICT = pa.struct([pa.field("a", pa.int64(), nullable=False)])
"""A struct whose field is null only where the struct is."""
LIST, MAP = pa.list_(STRICT), pa.map_(pa.string(), STRICT)
NESTED = pa.struct([pa.field("inner", STRICT, nullable=False), pa.field("many", LIST)])
KINDS: dict[pa.DataType, list[Any]] = {
    STRICT: [{"a": 1}, {"a": 2}],
    LIST: [[None, {"a": 1}], [], [{"a": 3}]],
    MAP: [[("x", None), ("y", {"a": 2})], []],
    NESTED: [{"inner": {"a": 5}, "many": [None]}, {"inner": {"a": 6}, "many": None}],
}
"""Types that may contain null structs, with values of each; the values may also be null."""


def as_spark_writes(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return an array in which all fields of a null are null, too."""
    is_null = pa.array([value is None for value in values], pa.bool_())
    if pa.types.is_struct(kind):
        fields = [field.with_nullable(True) for field in kind]  # noqa: FBT003 - Arrow's own
        parts = [[None if v is None else v[field.name] for v in values] for field in kind]
        columns = [as_spark_writes(part, f.type) for part, f in zip(parts, kind, strict=True)]
        return cast(pa.StructArray.from_arrays(columns, fields=fields, mask=is_null), kind)
    if not pa.types.is_nested(kind):
        return pa.array(values, kind)
    items = [item for value in values for item in value or ()]
    bounds = pa.array(accumulate(map(len, (v or () for v in values)), initial=0), pa.int32())
    if pa.types.is_list(kind):
        inner = as_spark_writes(items, kind.value_type)
        return cast(pa.ListArray.from_arrays(bounds, inner, mask=is_null), kind)
    keys = pa.array([key for key, _ in items], kind.key_type)
    inner = as_spark_writes([item for _, item in items], kind.item_type)
    return cast(pa.MapArray.from_arrays(bounds, keys, inner, mask=is_null), kind)

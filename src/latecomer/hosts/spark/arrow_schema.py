"""Spark's schemas in Arrow, the same in all versions of Spark that are supported."""

from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

_UTC: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
)
"""Spark 4.1 takes no time zone: its timestamps are in UTC anyway."""


def in_arrow(schema: StructType) -> pa.Schema:
    """Return the Arrow schema of the rows of a DataFrame with this schema."""
    return to_arrow_schema(schema, **_UTC)

"""Timestamps are in UTC, in each version of Spark."""

import importlib
from collections.abc import Iterator

import pyarrow as pa
import pyspark.sql.pandas.types as sparks
import pytest
from pyspark.sql.types import StringType, StructType, TimestampNTZType, TimestampType

from latecomer.hosts.spark import arrow_schema

COLUMNS = (
    StructType()
    .add("time", TimestampType())
    .add("local", TimestampNTZType())
    .add("key", StringType())
)
EXPECTED = {
    "time": pa.timestamp("us", "UTC"),
    "local": pa.timestamp("us"),
    "key": pa.string(),
}


def found() -> dict[str, pa.DataType]:
    return {field.name: field.type for field in arrow_schema.in_arrow(COLUMNS)}


@pytest.fixture
def an_old_spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    ours = sparks.to_arrow_schema

    def as_in_4_1(schema: StructType, timestamp_utc: bool = True) -> pa.Schema:  # noqa: FBT001, FBT002
        return ours(schema, timezone="UTC" if timestamp_utc else None)

    with monkeypatch.context() as patch:
        patch.setattr(sparks, "to_arrow_schema", as_in_4_1)
        yield importlib.reload(arrow_schema)
    importlib.reload(arrow_schema)


def test_this_version_of_spark() -> None:
    assert found() == EXPECTED


@pytest.mark.usefixtures("an_old_spark")
def test_a_version_of_spark_without_an_option_for_the_time_zone() -> None:
    assert found() == EXPECTED

"""Rows in this process, in place of a DataFrame."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql.types import StringType, TimestampNTZType

from latecomer.errors import ColumnNotFoundError, ColumnTypeError, OptionError, StepError
from latecomer.hosts.spark.local_frame import LocalFrame, as_table, is_local, spark_only

TABLE = pa.table({"time": [3, 1, 2], "key": ["a", None, "b"]})


class Polars:
    """A frame that exports its rows as Polars does."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "rows", [TABLE, TABLE.to_batches()[0], TABLE.to_pandas(), Polars()], ids=lambda r: str(type(r))
)
def test_a_batch_is_a_table_or_a_frame(rows: Any) -> None:  # noqa: ANN401
    frame = LocalFrame.of(TABLE.schema)

    assert frame.batch(rows).equals(TABLE)
    assert is_local(rows)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(
        OptionError, match=r"got <class 'list'>.\nHint: for example pa.Table.from_py"
    ):
        as_table([1])


def test_types_are_those_of_spark() -> None:
    times = pd.to_datetime([0, 1], unit="s")
    frame = LocalFrame.of(pd.DataFrame({"time": times, "kind": pd.Categorical(["a", "b"])}, [7, 8]))

    assert frame.columns == ["time", "kind"]
    assert [field.dataType for field in frame.schema] == [TimestampNTZType(), StringType()]
    assert frame.batch(frame.rows).schema.types == [pa.timestamp("us"), pa.string()]
    with pytest.raises(ColumnTypeError, match="Spark has no type for one of the columns"):
        LocalFrame.of(pa.schema({"when": pa.time64("ns"), "none": pa.month_day_nano_interval()}))


def test_arrow_computes_what_spark_would() -> None:
    doubled = LocalFrame.of(TABLE).withColumns({"twice": pc.field("time") * 2})
    frame = doubled.where(pc.field("twice") > 2).select("`twice`", "key")

    assert frame.columns == ["twice", "key"]
    assert frame.batch(TABLE).to_pydict() == {"twice": [6, 4], "key": ["a", "b"]}


@pytest.mark.parametrize(
    "ask",
    [
        lambda frame: frame.where("time > 1"),
        lambda frame: frame.select("time * 2"),
        lambda frame: frame.withColumns({"a": "time"}),
    ],
)
def test_spark_sql_is_refused(ask: Any) -> None:  # noqa: ANN401
    with pytest.raises(OptionError, match=r"is Spark SQL or a Column.*\nHint: .*Arrow expression"):
        ask(LocalFrame.of(TABLE))


def test_what_only_spark_can_do_is_refused() -> None:
    frame = LocalFrame.of(TABLE)

    with pytest.raises(StepError, match=r"needs Spark \(mapInArrow\).*\nHint: run it with"):
        frame.mapInArrow(None)
    with pytest.raises(OptionError, match="pivot needs Spark"):
        spark_only(frame, "pivot")
    with pytest.raises(ColumnNotFoundError, match='on the columns "time", "key"'):
        frame.where(pc.field("nothing") > 1)
    assert not hasattr(frame, "_hidden")


def test_a_batch_with_other_columns_is_refused() -> None:
    with pytest.raises(
        ColumnNotFoundError, match='has the columns "time"; the stream has "time", "'
    ):
        LocalFrame.of(TABLE).batch(TABLE.select(["time"]))

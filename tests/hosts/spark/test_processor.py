"""The processor that Spark gets for a stateful stage; for buckets see test_bucket.py."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import pytest
from pyspark.cloudpickle import dumps
from pyspark.sql.types import StructType

from latecomer.clock.policy import OneClock
from latecomer.hosts.spark.bucket_labels import label
from latecomer.hosts.spark.processor import BucketProcessor
from latecomer.hosts.spark.spark_clock import SparkClock
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.time import TimeColumn
from tests.support.memory_states import Handle

TIME = TimeColumn("time", "ms")


def processor(idle: int | None = None, streams: int = 0) -> BucketProcessor:
    plan = Plan(Source(TIME), OneClock((5,), idle), "divert", (Stage((), (Sort(TIME),)),))
    asked = BucketProcessor(plan, 0, 1, SparkClock(streams=streams))
    sent: BucketProcessor = pickle.loads(dumps(asked))  # noqa: S301 - ours
    return sent


@pytest.mark.parametrize(
    ("idle", "streams", "values"),
    [(None, 0, {"meta"}), (7, 0, {"meta", "silence"}), (None, 1, {"meta", "brought"})],
)
def test_the_state_is_declared_without_the_plan(
    idle: int | None, streams: int, values: set[str]
) -> None:
    asked, handle = processor(idle, streams), Handle()

    asked.init(handle)  # type: ignore[arg-type]

    assert {*handle.values} == values
    assert "_bucket" not in vars(asked)


def test_the_layout_of_the_state_is_this() -> None:
    """Spark refuses checkpoints with other state columns, so a change would break all of them."""
    asked, layout = processor(idle=7, streams=1), {}
    handle = SimpleNamespace(
        getValueState=lambda name, schema: layout.update({name: schema}),
        getMapState=lambda name, key, value: layout.update({name: (key, value)}),
    )

    asked.init(handle)  # type: ignore[arg-type]

    # These are types and not text, because every task would ask Spark to parse the text.
    assert layout == {
        "meta": struct(
            "buckets int, timer bigint, rows bigint, windows bigint, several string, stage binary"
        ),
        "chunks": (struct("operator int, number bigint"), struct("rows binary")),
        "silence": struct(
            "newest bigint, lasted bigint, last bigint, reached bigint, elapsed bigint"
        ),
        "brought": struct("streams bigint"),
    }


def struct(fields: str) -> StructType:
    kinds = {"int": "integer", "bigint": "long"}
    named = [field.split() for field in fields.split(", ")]
    head = {"nullable": True, "metadata": {}}
    return StructType.fromJson(
        {"fields": [{"name": name, "type": kinds.get(kind, kind), **head} for name, kind in named]}
    )


def test_a_micro_batch_runs_the_plan() -> None:
    asked = processor()
    asked.init(Handle())  # type: ignore[arg-type]
    clock = SimpleNamespace(getCurrentWatermarkInMs=lambda: 0)

    assert [*asked.handleExpiredTimer((label(0),), clock, None)] == []
    assert "_bucket" in vars(asked)

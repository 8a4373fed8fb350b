"""The counts of buckets, except those of held and released rows, see `test_bucket.py`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.batch import encode
from latecomer.clock.policy import OneClock
from latecomer.clock.watermark import Clock
from latecomer.hosts.late import EMPTY, NO_TIME, late_schema
from latecomer.hosts.output import Output
from latecomer.hosts.spark.bucket_labels import labels
from latecomer.hosts.spark.counting import Counting
from latecomer.hosts.spark.delivery import Delivery
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.time import NEVER, TimeColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

TIME = TimeColumn("time", "us")
PLAN = Plan(Source(TIME), OneClock((5,)), "divert", (Stage(("key",), (Sort(TIME),)),))
FIRST, SECOND = (int(label) for label in labels(2))


def late(keys: Sequence[str], reason: str) -> pa.Table:
    schema = late_schema(pa.schema({"time": pa.int64(), "key": pa.string()}))
    rows = [{"time": 1, "key": key, "_delay": 1, "_behind": 1, "_reason": reason} for key in keys]
    return pa.Table.from_pylist(rows, schema)


def told(counting: Counting) -> dict[str, Any]:
    lines = [json.loads(line) for part in counting.part() for line in part["blob"].splitlines()]
    counts, *keys = lines or [{}]
    return counts | ({"keys": keys[0]} if keys else {})


def test_rows_set_aside_while_packing_are_counted_by_reason() -> None:
    counting = Counting(PLAN, 0, FIRST, 2)
    aside = late("aab", "no time")
    parcel = {"branch": 0, "kind": "late", "rows": 3, "newest": NEVER, "blob": encode(aside)}

    counting.arrived([parcel], Delivery.of([], PLAN.stages[0]), 0)

    assert told(counting) == {"in": 3, "no_time": 3}


def test_parcels_in_another_order_give_the_same_bytes() -> None:
    aside = {reason: encode(late("a", reason)) for reason in (NO_TIME, EMPTY)}
    parcels = [
        {"branch": 0, "kind": "late", "rows": 1, "newest": NEVER, "blob": blob}
        for blob in aside.values()
    ]
    found = []
    for given in (parcels, parcels[::-1]):
        counting = Counting(PLAN, 0, FIRST, 2)
        counting.arrived(given, Delivery.of([], PLAN.stages[0]), 0)
        outputs = [
            Output("late", 1, late(key, "late")) for key in ("ab" if given is parcels else "ba")
        ]
        list(counting.watched(iter(outputs)))
        found.append([*counting.part()])

    assert found[0] == found[1]


def test_late_rows_are_counted_by_key_unless_rows_may_not_be_shown() -> None:
    outputs = [Output("late", 3, late("aab", "late")), Output("dropped", 4, None)]
    counting = Counting(PLAN, 0, FIRST, 2)
    assert list(counting.watched(iter(outputs))) == outputs
    assert told(counting) == {"keys": {'{"key": "a"}': 2, '{"key": "b"}': 1}}

    redacted = replace(PLAN, source=replace(PLAN.source, redact=True))
    counting = Counting(redacted, 0, FIRST, 2)
    assert list(counting.watched(iter(outputs))) == outputs
    assert told(counting) == {}


def test_answers_are_counted_for_each_of_several_waits() -> None:
    several = replace(PLAN, clock=OneClock((0, 1_000_000), texts=("0 s", "1 s")))
    ready = pa.table({"wait": ["0 s", "1 s", "1 s"], "is_changed": [None, True, False]})
    counting = Counting(several, 0, SECOND, 2)

    list(counting.watched(iter([Output("ready", 3, ready)])))

    assert told(counting) == {"answers_0": 1, "answers_1000000": 2, "refined_1000000": 1}


def test_rows_that_are_in_all_buckets_are_counted_by_the_first() -> None:
    everywhere = replace(PLAN, stages=(replace(PLAN.stages[0], everywhere=True),))
    blob = encode(pa.table({"time": [1, 7], "key": ["a", "b"]}))
    parcel = {"branch": 0, "part": 1, "kind": "rows", "rows": 2, "newest": 7, "blob": blob}

    for bucket, expected in ((FIRST, {"in": 2, "delay_0": 1, "delay_10": 1}), (SECOND, {})):
        counting = Counting(everywhere, 0, bucket, 2)
        counting.arrived([parcel], Delivery.of([parcel], everywhere.stages[0]), 5)
        list(counting.watched(iter([Output("late", 1, late("a", "no begin"))])))
        found = told(counting)
        assert found.pop("newest") == 7
        assert found.pop("keys", None) == ({'{"key": "a"}': 1} if expected else None)
        assert found == (expected | {"no_begin": 1} if expected else {})


def test_a_clock_that_is_not_set_is_not_reported() -> None:
    counting = Counting(PLAN, 0, FIRST, 2)
    counting.ran(Clock(NEVER, NEVER))
    counting.held((3, 0), (3, 0))
    assert told(counting) == {}

    counting.ran(Clock(9, 4))
    assert told(counting) == {"watermark": 4}

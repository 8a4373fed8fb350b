"""Any number of threads gives the rows of one thread, for each key and in each step."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import latecomer as lc
from latecomer import agg
from latecomer.hosts.threads import is_split
from latecomer.testing.strategies import batchings, cut

if TYPE_CHECKING:
    from collections.abc import Callable

Row = tuple[int, int | None, int]
SCHEMA = pa.schema({"time": pa.timestamp("us", "UTC"), "key": pa.int64(), "value": pa.int64()})
SECOND = 1_000_000


def table(rows: list[Row]) -> pa.Table:
    times, keys, values = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table([[t * SECOND for t in times], list(keys), list(values)], schema=SCHEMA)


def stream(**options: Any) -> lc.DisorderedStream:  # noqa: ANN401
    return lc.disordered(SCHEMA, time="time", key="key", **options)


def other(key: str = "key") -> lc.TemporalStream:
    renamed = pa.schema([SCHEMA.field("time"), (key, pa.int64()), ("other", pa.int64())])
    rows = lc.disordered(renamed, time="time", key=key)
    return rows.sort(wait="2 seconds").alter(duration="4 seconds")


def lasting() -> lc.TemporalStream:
    return stream().sort(wait="2 seconds").alter(duration="4 seconds")


def numbered() -> Any:  # noqa: ANN401
    return (
        stream()
        .optimistic(wait="2 seconds")
        .stateful(
            lambda count, _row: (count + 1, count + 1),
            initial=0,
            outputs=pa.schema({"n": pa.int64()}),
        )
    )


LOW, HIGH = lc.event("low", pc.field("value") < 3), lc.event("high", pc.field("value") > 3)
SUM = agg.sum("value")
QUERIES: dict[str, Callable[[], Any]] = {
    "sort": lambda: stream().sort(wait="2 seconds"),
    "sort, dropping": lambda: stream().sort(wait="2 seconds", late="drop"),
    "sort, adjusting": lambda: stream().sort(wait="2 seconds", late="adjust"),
    "a clock for each key": lambda: stream(clock="key").sort(wait="2 seconds"),
    "windows": lambda: (
        stream().tumbling("5 seconds").wait("2 seconds").group_by("key").aggregate(s=SUM)
    ),
    "windows by two waits": lambda: (
        stream()
        .tumbling("5 seconds")
        .wait(["1 second", "3 seconds"])
        .group_by("key")
        .aggregate(n=agg.count(), q=agg.quantile("value", 0.5))
    ),
    "sliding": lambda: lasting().group_by("key").aggregate(s=SUM, n=agg.count()),
    "a sum named as the time": lambda: lasting().group_by("key").aggregate(time=SUM),
    "two stages": lambda: (
        lasting().group_by("key").aggregate(s=SUM).group_by("s").aggregate(n=agg.count())
    ),
    "distinct": lambda: stream().sort(wait="2 seconds").distinct("value", within="5 seconds"),
    "pattern": lambda: (
        stream().sort(wait="2 seconds").detect(LOW.then(HIGH).within("9 seconds"), by="key")
    ),
    "barrier": lambda: numbered().barrier(),
    "join": lambda: lasting().join(other(), on="key"),
    "as-of": lambda: lasting().left_join(other(), on="key"),
    "a stream that every thread has": lambda: (
        lasting().group_by("key").aggregate(s=SUM).join(other("there"), broadcast=True)
    ),
}


def by_key(rows: pa.Table, key: str = "key") -> dict[Any, list[Any]]:
    """Return the rows of each key, in their order."""
    found = defaultdict(list)
    for row in rows.to_pylist():
        found[row[key]].append(str(row))
    return found


def assert_same(one: lc.LocalRun, many: lc.LocalRun, key: str) -> None:
    assert by_key(many.ready, key) == by_key(one.ready, key)
    for ours, theirs in zip(many.lates, one.lates, strict=True):
        by = ours.column_names[1]
        assert by_key(ours, by) == by_key(theirs, by)
    assert many.dropped == one.dropped
    assert many.ready.schema == one.ready.schema


@st.composite
def streams(draw: st.DrawFn) -> list[pa.Table]:
    """Draw the batches of a disordered stream."""
    delays = draw(
        st.lists(
            st.tuples(st.integers(0, 4), st.none() | st.integers(0, 5), st.integers(0, 6)),
            max_size=40,
        )
    )
    arriving = [(max(0, at - delay), key, value) for at, (delay, key, value) in enumerate(delays)]
    return [table(batch) for batch in cut(arriving, draw(batchings(max_size=40)))]


@pytest.mark.parametrize("name", QUERIES)
@settings(max_examples=25)
@given(data=st.data(), threads=st.integers(2, 4))
def test_threads_give_the_answers_of_one(name: str, data: st.DataObject, threads: int) -> None:
    query = QUERIES[name]()
    batches = [
        [rows.rename_columns(frame.arrow.names[:3]) for rows in data.draw(streams())]
        for frame in query.dfs
    ]

    one, many = query.run(*batches), query.run(*batches, threads=threads)

    (key,) = query.plan.stages[-1].key
    assert_same(one, many, key)
    for ours, theirs in zip(many.steps, one.steps, strict=True):
        assert_same(theirs, ours, key)


def test_many_rows_keep_the_order_of_their_key() -> None:
    rows = table([(at * 7 % 3_001, at % 11, at) for at in range(20_000)])
    query = stream().sort(wait="1 hour")

    assert by_key(query.run([rows], threads=3).ready) == by_key(query.run([rows]).ready)


def test_plans_that_depend_on_all_rows_are_not_split() -> None:
    asked = stream().sort(recall=0.9)
    alone = lc.disordered(SCHEMA, time="time").sort(wait="1 second")
    streams = {"left": stream(), "right": stream()}
    joined = lc.window_join(streams, on="key", within="5 seconds")
    twice = QUERIES["two stages"]().plan

    assert is_split(stream().sort(wait="1 second").plan, 0)
    assert [is_split(each.plan, 0) for each in (asked, alone, joined)] == [False] * 3
    assert [is_split(twice, at) for at in range(len(twice.stages))] == [False, True]


def test_the_limit_on_held_rows_is_that_of_one_thread() -> None:
    rows = table([(1, key, 0) for key in range(20)])
    query = stream(held_limit=19).sort(wait="1 minute")

    for threads in (1, 4):
        with pytest.raises(lc.HeldLimitError, match="holds 20 rows or states"):
            query.run([rows], end="keep", threads=threads)


def test_an_error_on_a_thread_is_raised() -> None:
    rows = [table([(100, key, 0) for key in range(9)]), table([]), table([(1, 5, 0)])]

    with pytest.raises(lc.LateRowError, match="behind the watermark"):
        stream().sort(wait="1 second", late="raise").run(rows, threads=3)

"""Rows of equal keys share a bucket, and buckets never give the same number to two things."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import latecomer as lc
from latecomer.hosts.buckets import spread, told_apart
from latecomer.hosts.output import READY, Output
from latecomer.operators.temporal.edges import FINAL, ID

ROWS = pa.table({"time": pa.array([1], pa.timestamp("us", "UTC")), "key": [1]})


@given(keys=st.lists(st.integers(0, 20)), buckets=st.integers(1, 5))
def test_each_row_is_in_the_bucket_of_its_key_and_buckets_keep_their_order(
    keys: list[int], buckets: int
) -> None:
    rows = pa.table(
        {"key": pa.array(keys, pa.int64()), "at": pa.array(range(len(keys)), pa.int64())}
    )

    parts = [*spread(("key",), rows, buckets)]

    shares = [at.tolist() for _, _, at in parts]
    assert sorted(at for share in shares for at in share) == list(range(len(keys)))
    assert [part["at"].to_pylist() for _, part, _ in parts] == shares
    assert all(share == sorted(share) for share in shares)
    found = [{keys[at] for at in share} for share in shares]
    assert sum(map(len, found)) == len(set(keys))


def test_ids_of_open_rows_differ_between_buckets_and_complete_rows_have_none() -> None:
    plan = lc.disordered(ROWS, time="time", key="key").sort(wait="1 second").plan
    batch = pa.table({ID: pa.array([FINAL, 0, 1])})

    found = [told_apart(Output(READY, 3, batch), plan, number, 2) for number in (0, 1)]

    assert [each.batch[ID].to_pylist() for each in found if each.batch is not None] == [
        [FINAL, 0, 2],
        [FINAL, 1, 3],
    ]

from __future__ import annotations

import numpy as np
import pyarrow as pa

from latecomer.operators.temporal.binary import On, codes_of
from latecomer.operators.temporal.clip import ClipBy
from latecomer.operators.temporal.edges import Edges
from latecomer.time import FOREVER, NEVER


def edges(**columns: list[object]) -> Edges:
    payload = pa.table(columns)
    nothing = np.zeros(payload.num_rows, np.int64)
    return Edges(nothing, nothing, nothing, payload)


def test_equal_keys_of_two_tables_have_one_number() -> None:
    left, right = edges(city=["a", "b", None]), edges(town=["b", "c", None])

    (ours, theirs), count = codes_of([(left, ("city",)), (right, ("town",))])

    assert ours[1] == theirs[0]
    assert ours[2] == theirs[2]
    assert len({*ours.tolist(), *theirs.tolist()}) == 4
    assert max(*ours, *theirs) < count


def test_a_null_equals_nothing_in_keys() -> None:
    left, right = edges(a=["x", "y"], b=[1, None]), edges(a=["x", None], b=[1, 2])

    (ours, theirs), _ = codes_of([(left, ("a", "b")), (right, ("a", "b"))], nulls=False)

    assert ours[0] == theirs[0] >= 0
    assert ours[1] == theirs[1] == -1


def test_rows_without_a_key_belong_together() -> None:
    (ours, theirs), count = codes_of([(edges(x=[1, 2]), ()), (edges(y=[3]), ())])

    assert (ours.tolist(), theirs.tolist(), count) == ([0, 0], [0], 1)


def test_a_table_without_rows_is_numbered_too() -> None:
    nobody = Edges.none(pa.schema({"city": pa.string()}))

    (ours, theirs), _ = codes_of([(nobody, ("city",)), (edges(city=["b", "b"]), ("city",))])

    assert len(ours) == 0
    assert theirs[0] == theirs[1]


def test_rows_of_both_streams_meet_by_the_key_of_the_left_one() -> None:
    spec = ClipBy(On(("city",), ("town",)))

    assert spec.keyed == ("city",)
    assert not spec.everywhere
    assert [spec.passes(at) for at in (NEVER, 7, FOREVER)] == [NEVER, 7, FOREVER]
    assert spec.label == 'ClipBy(on=On(left=["city"], right=["town"]))'

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from latecomer.errors import TombstoneError
from latecomer.operators.optimistic.items import (
    CHILD,
    MARKS,
    ORDER,
    SIGN,
    SOURCE,
    TRACE,
    are_new,
    as_dict,
    children,
    identity,
    in_order,
    is_hidden,
    marks,
    missing,
    settled,
    shown,
    signed,
    signs,
    twice,
)
from latecomer.time import TimeColumn

TIME = TimeColumn("time", "us")
SCHEMA = pa.schema([("time", pa.int64()), ("name", pa.string()), *MARKS, (f"{CHILD}0", pa.int32())])

Item = tuple[int, int, str]
"""Sign, time and name."""


def items(*rows: Item, trace: int = 0) -> pa.Table:
    """Return items that differ in time and name; the trace may differ, too."""
    made = [(time, name, sign, 0, ord(name), trace, 0) for sign, time, name in rows]
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, r, strict=True)) for r in made], SCHEMA)


def told(found: pa.Table) -> list[Item]:
    return [(row[SIGN], row["time"], row["name"]) for row in found.to_pylist()]


def test_a_user_sees_the_row_and_nothing_else() -> None:
    assert shown(SCHEMA).names == ["time", "name"]
    assert marks(SCHEMA).names == [SIGN, ORDER, SOURCE, TRACE, f"{CHILD}0"]
    assert children(SCHEMA) == [f"{CHILD}0"]
    assert as_dict(items((1, 5, "a"))) == {"time": 5, "name": "a"}
    assert not is_hidden("lc_sign")


def test_items_become_tombstones_and_keep_all_other_columns() -> None:
    back = signed(items((1, 5, "a"), (-1, 6, "b")), -1)

    assert signs(back).tolist() == [-1, -1]
    assert back.schema == SCHEMA
    assert told(signed(back, 1)) == [(1, 5, "a"), (1, 6, "b")]


def test_items_are_identified_by_time_place_and_trace() -> None:
    time, order, source, child, trace = identity(items((1, 5, "a"), trace=9), TIME)

    assert [each.tolist() for each in (time, order, source, child, trace)] == [
        [5],
        [0],
        [97],
        [0],
        [9],
    ]


def test_items_of_equal_time_are_ordered_by_the_columns_behind_it() -> None:
    times, orders, sources = np.array([3, 1, 3, 3]), np.array([2, 0, 1, 2]), np.array([0, 0, 0, -1])

    assert in_order([times, orders, sources])[0].tolist() == [1, 2, 3, 0]


def test_a_number_may_count_before_the_time() -> None:
    times, others = np.array([3, 1, 2, 1]), np.array([0, 1, 0, 0])

    for before in (np.array([1, 1, 0, 1]), np.array([2**40, 2**40, 0, 2**40])):
        assert in_order([times, others], before)[0].tolist() == [2, 3, 1, 0]


def test_an_item_is_new_if_it_differs_from_the_one_before_in_any_column() -> None:
    assert are_new([np.array([1, 1, 2, 2]), np.array([5, 5, 5, 6])]).tolist() == [
        *(True, False, True, True),
    ]
    assert are_new([np.array([], np.int64)]).tolist() == []


def test_an_item_that_is_cancelled_in_its_micro_batch_is_not_emitted() -> None:
    changes = items((1, 5, "a"), (1, 3, "b"), (-1, 5, "a"), (-1, 9, "c"))

    left, cancelled = settled(changes, TIME)

    assert told(left) == [(-1, 9, "c"), (1, 3, "b")]
    assert cancelled == 2


def test_another_version_of_an_item_replaces_the_cancelled_one() -> None:
    changes = pa.concat_tables([items((1, 5, "a"), trace=1), items((-1, 5, "a"), trace=2)])

    left, cancelled = settled(changes, TIME)

    assert told(left) == [(-1, 5, "a"), (1, 5, "a")]
    assert left.column(TRACE).to_pylist() == [2, 1]
    assert cancelled == 0


def test_tombstones_come_first_and_both_are_in_order() -> None:
    changes = items((1, 9, "a"), (-1, 8, "b"), (1, 1, "c"), (-1, 2, "d"))

    assert told(settled(changes, TIME).items) == [
        (-1, 2, "d"),
        (-1, 8, "b"),
        (1, 1, "c"),
        (1, 9, "a"),
    ]


def test_an_item_may_come_again_after_it_was_cancelled() -> None:
    changes = items((1, 5, "a"), (-1, 5, "a"), (1, 5, "a"))

    assert told(settled(changes, TIME).items) == [(1, 5, "a")]


@pytest.mark.parametrize(("sign", "words"), [(1, "an item came twice"), (-1, "taken back twice")])
def test_an_item_does_not_come_or_go_twice(sign: int, words: str) -> None:
    with pytest.raises(TombstoneError, match=f"{words}: time=5, name=a"):
        settled(items((sign, 5, "a"), (sign, 5, "a")), TIME)


def test_no_changes_leave_nothing() -> None:
    assert settled(items(), TIME).items.num_rows == 0


def test_errors_show_the_row_and_say_what_to_do() -> None:
    lost = str(missing(items((-1, 5, "a"))))

    assert lost.startswith("there is no item for this tombstone to delete: time=5, name=a.")
    assert "\nHint: a function of flat_map must return the same rows" in lost
    assert "\nHint: " in str(twice(items((1, 5, "a"))))

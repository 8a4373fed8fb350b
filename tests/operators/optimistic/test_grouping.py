"""Windowed grouping, compared with the paper's algorithm, which runs item by item."""

from collections import Counter
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.errors import TombstoneError
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.optimistic.grouping import Grouper, Grouping
from latecomer.operators.optimistic.items import MARKS
from tests.support import optimistic_twins as twins
from tests.support.chains import SCHEMA, TIME

ITEM = pa.schema([*SCHEMA, *MARKS])
Change = tuple[int, int, str]
"""Sign, time and key."""


def items(changes: list[Change]) -> pa.Table:
    rows = [(time, key, time, sign, 0, 0, 0) for sign, time, key in changes]
    return pa.Table.from_pylist([dict(zip(ITEM.names, r, strict=True)) for r in rows], ITEM)


def grouper(size: int) -> Grouper:
    return Grouping(TIME, ("key",), size).start(ITEM, MemoryChunks())


def said(running: Grouper, *changes: Change) -> list[tuple[str, list[int]]]:
    rows = running.push(items(list(changes))).ready.to_pylist()
    return [("-+"[row["_lc_sign"] > 0], [i["value"] for i in row["items"]]) for row in rows]


def test_a_straggler_breaks_a_pair() -> None:
    pairs = grouper(2)

    assert said(pairs, (1, 1, "k")) == [("+", [1])]
    assert said(pairs, (1, 3, "k")) == [("+", [1, 3])]
    assert said(pairs, (1, 2, "k")) == [("-", [1, 3]), ("+", [1, 2]), ("+", [2, 3])]


def test_an_item_and_its_tombstone_in_one_micro_batch_give_no_output() -> None:
    pairs = grouper(2)

    assert said(pairs, (1, 1, "k"), (-1, 1, "k")) == []
    assert said(pairs, (1, 2, "k"), (1, 1, "k"), (-1, 1, "k")) == [("+", [2])]


def test_items_of_one_micro_batch_are_inserted_together() -> None:
    assert said(grouper(2), (1, 3, "k"), (1, 1, "k"), (1, 2, "k")) == [
        ("+", [1]),
        ("+", [1, 2]),
        ("+", [2, 3]),
    ]


def test_a_tombstone_without_its_item_is_an_error() -> None:
    pairs = grouper(2)
    said(pairs, (1, 1, "k"))

    with pytest.raises(TombstoneError, match=r"no item for this tombstone to delete.*key=k"):
        said(pairs, (-1, 2, "k"))
    with pytest.raises(TombstoneError, match="an item came twice"):
        said(pairs, (1, 1, "k"))


def test_before_the_watermark_only_items_that_later_tuples_need_are_held() -> None:
    triples = grouper(3)
    said(triples, *((1, time, key) for time in range(20) for key in "ab"))

    triples.advance(15)
    assert triples.held == 2 * (2 + 5)
    assert said(triples, (1, 15, "c"), (1, 30, "a")) == [("+", [15]), ("+", [18, 19, 30])]
    triples.advance(100)
    assert triples.held == 2 + 2 + 1


CHANGES = st.lists(st.tuples(st.integers(0, 12), st.sampled_from("ab")), max_size=14)


@settings(max_examples=60)
@given(chosen=CHANGES, size=st.integers(1, 4), cuts=st.sets(st.integers(1, 14)))
def test_the_output_is_the_net_change_of_the_papers_items_and_tombstones(
    chosen: list[tuple[int, str]], size: int, cuts: set[int]
) -> None:
    running, twin = grouper(size), twins.Grouping(size)
    batch: list[Change] = []
    expected: list[twins.Signed] = []
    there: set[tuple[int, str]] = set()
    for number, (time, key) in enumerate(chosen, 1):
        # An item that is present is cancelled; any other is inserted.
        sign = -1 if (time, key) in there else 1
        there ^= {(time, key)}
        batch.append((sign, time, key))
        expected += twin.push(sign, twins.Item((time,), key, time))
        if number in cuts or number == len(chosen):
            assert got(running, batch) == windows(expected)
            batch, expected = [], []


def got(running: Grouper, batch: list[Change]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for row in running.push(items(batch)).ready.to_pylist():
        found[row["key"], tuple(i["value"] for i in row["items"])] += row["_lc_sign"]
    assert all(found.values())
    return found


def windows(expected: list[twins.Signed]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for sign, item in expected:
        found[item.key, tuple(each.payload for each in item.payload)] += sign
    return Counter({each: count for each, count in found.items() if count})


def test_one_by_one_the_output_has_the_papers_order() -> None:
    for order in permutations(range(5)):
        running, twin = grouper(3), twins.Grouping(3)
        for time in order:
            expected = [
                ("-+"[sign > 0], [each.payload for each in item.payload])
                for sign, item in twin.push(1, twins.Item((time,), "k", time))
            ]
            assert said(running, (1, time, "k")) == expected

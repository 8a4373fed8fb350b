"""The laws of optimistic steps, for any order of arrival.

Order: in any order of arrival in which no row is late, the result is that of ordered rows.
Batching: cutting the rows into other batches changes nothing.
Recovery: saving and restoring changes nothing.
Conservation: each row is used or comes out as late.
"""

import random
from collections import Counter
from itertools import pairwise, permutations
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latecomer.operators.optimistic import buckets
from latecomer.operators.optimistic.barrier import Barrier
from latecomer.operators.optimistic.changelog import Changelog
from latecomer.operators.optimistic.enter import Enter
from latecomer.operators.optimistic.flat_map import FlatMap
from latecomer.operators.optimistic.grouping import Grouping
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.operators.optimistic.stateful import Stateful
from latecomer.time import FOREVER
from tests.support.chains import OUTPUT, TIME, Chain, Row, Seen, append, applied, counted, many

ENTER = Enter(TIME, ("key",))


def halves(row: Seen) -> list[tuple[str, int]]:
    return [(row.key, row.value // 2), (row.key, row.value - row.value // 2)]


def sizes(row: Seen) -> dict[str, int]:
    return {"value": sum(each["value"] for each in row.items)}


def nth(state: int, row: Seen) -> tuple[int, tuple[str]]:
    """Return a group that depends on the number of rows, so a straggler changes all later ones."""
    return state + 1, ("xyz"[(state + row.value) % 3],)


def count(state: int, row: Seen) -> tuple[int, tuple[int]]:
    return state + 1, ((state + 1) % 3,)


def total(state: int, row: Seen) -> tuple[int, dict[str, int] | None]:
    state = (3 * state + row.value) % 101
    return state, {"value": state} if state % 4 else None


VALUE = pa.schema([("value", pa.int64())])
HALF = pa.schema([("key", pa.string()), ("value", pa.int64())])

STEPS: dict[str, tuple[Optimistic, ...]] = {
    "append": (Stateful(TIME, ("key",), append, "", OUTPUT, every=3),),
    "many outputs": (Stateful(TIME, ("key",), many, 0, OUTPUT, every=2),),
    "grouping": (Grouping(TIME, ("key",), 3),),
    "two groupings": (Grouping(TIME, ("key",), 2), Grouping(TIME, (), 3)),
    "map, then states of all keys": (
        FlatMap(TIME, halves, HALF),
        Stateful(TIME, (), append, "", OUTPUT),
    ),
    "groups that stragglers change": (
        Stateful(TIME, ("key",), nth, 0, pa.schema([("group", pa.string())]), every=2),
        Stateful(TIME, ("group",), count, 0, VALUE, every=2),
        Stateful(TIME, ("group",), append, "", OUTPUT, every=2),
    ),
    "groups that stragglers change, at the end": (
        Stateful(TIME, ("key",), nth, 0, pa.schema([("group", pa.string())])),
        Stateful(TIME, ("group",), count, 0, VALUE),
    ),
    "three steps": (
        Stateful(TIME, ("key",), total, 0, VALUE, every=4),
        Grouping(TIME, ("key",), 2),
        FlatMap(TIME, sizes, VALUE),
        Stateful(TIME, (), append, "", OUTPUT, every=1),
    ),
}

steps = pytest.mark.parametrize("specs", STEPS.values(), ids=STEPS)

ROWS = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from("abc"), st.integers(0, 20)), max_size=25
)
CUTS = st.sets(st.integers(0, 25))


def in_batches(rows: list[Row], cuts: set[int]) -> list[list[Row]]:
    bounds = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    return [rows[start:stop] for start, stop in pairwise(bounds)]


def by_time(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row[0])


def final(specs: tuple[Optimistic, ...], batches: list[list[Row]]) -> list[dict[str, Any]]:
    chain = Chain(ENTER, *specs, Barrier(TIME))
    for batch in batches:
        assert chain.push(batch) == []
    return chain.advance(FOREVER)


@steps
def test_every_order_of_a_few_rows_gives_the_result_of_ordered_rows(
    specs: tuple[Optimistic, ...],
) -> None:
    rows = [(1, "a", 5), (2, "b", 8), (3, "a", 7), (4, "a", 1)]
    expected = final(specs, [rows])
    assert expected

    for order in permutations(rows):
        chain = Chain(ENTER, *specs, Changelog())
        changes = [change for row in order for change in chain.push([row])]

        assert final(specs, [[row] for row in order]) == expected
        assert applied(changes) == counted(expected)


@steps
@settings(max_examples=15)
@given(rows=ROWS, seed=st.randoms(use_true_random=False), cuts=CUTS)
def test_disorder_leaves_no_trace(
    specs: tuple[Optimistic, ...], rows: list[Row], seed: random.Random, cuts: set[int]
) -> None:
    shuffled = list(rows)
    seed.shuffle(shuffled)
    # Rows of equal time keep their order of arrival.
    expected = final(specs, [by_time(shuffled)])

    assert final(specs, in_batches(shuffled, cuts)) == expected
    chain = Chain(ENTER, *specs, Changelog())
    changes = [change for batch in in_batches(shuffled, cuts) for change in chain.push(batch)]
    assert applied(changes) == counted(expected)


@steps
@settings(max_examples=15)
@given(rows=ROWS, cuts=CUTS, wait=st.integers(0, 12))
def test_rows_within_the_wait_are_used_and_others_are_late(
    specs: tuple[Optimistic, ...], rows: list[Row], cuts: set[int], wait: int
) -> None:
    seen, newest = [], None
    chain = Chain(ENTER, *specs, Barrier(TIME))
    used: list[Row] = []
    for batch in in_batches(rows, cuts):
        if newest is not None:
            seen += chain.advance(newest - wait)
            used += [row for row in batch if row[0] >= newest - wait]
        else:
            used += batch
        chain.push(batch)
        chain = chain.restart()
        newest = max([newest or 0, *(row[0] for row in batch)])
    seen += chain.advance(FOREVER)

    assert seen == final(specs, [by_time(used)])
    assert Counter(chain.late) + Counter(used) == Counter(rows)


@steps
@settings(max_examples=15)
@given(rows=ROWS, cuts=CUTS, stops=st.sets(st.integers(0, 25)))
def test_saving_and_restoring_changes_nothing(
    specs: tuple[Optimistic, ...], rows: list[Row], cuts: set[int], stops: set[int]
) -> None:
    runs = []
    for is_stopped in (False, True):
        chain = Chain(ENTER, *specs, Changelog())
        run = []
        for number, batch in enumerate(in_batches(rows, cuts)):
            run.append(chain.push(batch))
            run.append(chain.advance(min((row[0] for row in batch), default=0) - 5))
            if is_stopped and number in stops:
                chain = chain.restart()
        runs.append(run)

    assert runs[0] == runs[1]


def test_a_large_stream_in_random_order_gives_the_result_of_ordered_rows() -> None:
    draw = random.Random(11)
    rows = [
        (draw.randrange(1_000), draw.choice("abcdef"), draw.randrange(99)) for _ in range(1_500)
    ]
    specs = STEPS["map, then states of all keys"][:1] + STEPS["three steps"]
    expected = final(specs, [by_time(rows)])

    assert final(specs, [rows[at : at + 300] for at in range(0, 1_500, 300)]) == expected


@pytest.mark.parametrize("full", [0, 3, 1_000])
def test_the_number_of_slots_does_not_matter(full: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "FULL", full)
    monkeypatch.setattr(buckets, "FEW", 0)
    rows = [(t % 17, "abcdefgh"[t % 8], t) for t in range(60)]

    for specs in STEPS.values():
        chain = Chain(ENTER, *specs, Changelog())
        changes = []
        for batch in in_batches(rows, {7, 20, 33}):
            changes += chain.push(batch)
            chain = chain.restart()
        assert applied(changes) == counted(final(specs, [by_time(rows)]))

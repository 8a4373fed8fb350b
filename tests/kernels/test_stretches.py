"""Stretches, their states, and trees that cover them, compared with counting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.stretches import cover_largest, cover_sums, cut, tell, tree_cover
from latecomer.time import FOREVER

if TYPE_CHECKING:
    from random import Random

COUNT, LEVELS = 13, 4
Span = tuple[int, int]
Life = tuple[int, int | None, int]

spans = st.tuples(st.integers(0, COUNT), st.integers(0, COUNT)).map(lambda x: (min(x), max(x)))


def columns(rows: list[tuple[int, ...]], width: int) -> list[np.ndarray]:
    return list(np.array(rows, np.int64).reshape(-1, width).T.copy())


lifetimes = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9) | st.none(), st.integers(0, 2)), max_size=12
)
"""Begins, durations (None for a row that has not ended) and keys."""


@dataclass(frozen=True)
class Cut:
    starts: np.ndarray
    ends: np.ndarray
    before: np.ndarray
    rows: np.ndarray
    one_state: np.ndarray
    firsts: np.ndarray
    stops: np.ndarray
    lasts: np.ndarray

    @classmethod
    def of(cls, states: list[Life]) -> Cut:
        at, other, codes = columns(
            [(a, FOREVER if d is None else a + d, c) for a, d, c in states], 3
        )
        ended = np.flatnonzero(other < FOREVER)
        return cls(*cut(at, other, ended[np.argsort(other[ended], kind="stable")], codes, 3))


def counting(states: list[Life], at: int, key: int) -> list[int]:
    """Return the states of a key that count at an instant."""
    return [
        i
        for i, (start, duration, code) in enumerate(states)
        if code == key and start <= at and (duration is None or at < start + duration)
    ]


@given(lifetimes)
def test_time_is_cut_where_a_state_of_the_key_begins_or_ends(given: list[Life]) -> None:
    states = sorted(given, key=lambda state: state[0])
    made = Cut.of(states)

    assert made.starts.tolist() == sorted(made.starts)
    for key in range(3):
        mine = [i for i, state in enumerate(made.one_state) if states[state][2] == key]
        changes = {at for at, _, code in states if code == key}
        changes |= {at + d for at, d, code in states if code == key and d is not None}
        assert made.starts[mine].tolist() == sorted(changes)
        assert made.ends[mine].tolist() == [*sorted(changes)[1:], FOREVER][: len(mine)]
        assert made.before[mine].tolist() == [-1, *mine][: len(mine)]
        assert made.lasts[key] == (mine[-1] if mine else -1)
        here = [counting(states, made.starts[i], key) for i in mine]
        assert made.rows[mine].tolist() == [len(each) for each in here]
    for i, (at, duration, _) in enumerate(states):
        assert made.starts[made.firsts[i]] == at
        assert (made.stops[i] < 0) == (duration is None)
        assert duration is None or made.starts[made.stops[i]] == at + duration


@given(lifetimes, st.integers(0, 20) | st.just(FOREVER), st.randoms())
def test_begins_and_ends_are_emitted_in_order_of_time(
    given: list[Life], until: int, random: Random
) -> None:
    made = Cut.of(sorted(given, key=lambda state: state[0]))
    # The begins of some rows were emitted before.
    was_told = [rows > 0 and random.random() < 0.4 for rows in made.rows]
    ids = np.cumsum(was_told) - 1
    ids[~np.array(was_told, np.bool_)] = -1
    next_id = sum(was_told)
    ended = np.flatnonzero((ids >= 0) & (made.ends < FOREVER))
    ended = ended[np.argsort(made.ends[ended], kind="stable")]
    new = [i for i in range(len(ids)) if made.rows[i] and made.starts[i] < until and ids[i] < 0]
    # At equal times, begins come before ends.
    events = [(made.starts[i], 0, i) for i in new] + [(made.ends[i], 1, i) for i in ended]
    events.sort(key=lambda event: event[:2])
    before = ids.copy()

    at, other, told_ids, of, free = tell(
        made.starts, made.ends, made.rows, ids, ended, until, next_id
    )

    assert [*zip(at, of, strict=True)] == [(time, stretch) for time, _, stretch in events]
    others = [made.starts[i] if is_end else made.ends[i] for _, is_end, i in events]
    assert other.tolist() == others
    opened = [i for i in new if made.ends[i] == FOREVER and until < FOREVER]
    assert ids[opened].tolist() == [*range(next_id, free)]
    assert np.delete(ids, opened).tolist() == np.delete(before, opened).tolist()
    assert told_ids.tolist() == ids[of].tolist()


@given(lifetimes, st.randoms())
def test_each_stretch_has_the_sum_of_the_rows_that_cover_it(
    given: list[Life], random: Random
) -> None:
    states = sorted(given, key=lambda state: state[0])
    values = np.array([random.randint(-50, 50) for _ in states], np.int64)
    made = Cut.of(states)

    assert cover_sums(made.firsts, made.stops, values, made.before).tolist() == [
        sum(values[counting(states, start, states[state][2])].tolist())
        for start, state in zip(made.starts, made.one_state, strict=True)
    ]


@given(lifetimes, st.randoms())
def test_each_stretch_has_the_maximum_of_the_rows_that_cover_it(
    given: list[Life], random: Random
) -> None:
    states = sorted(given, key=lambda state: state[0])
    values = np.array([random.randint(-3, 3) for _ in states], np.int64)
    valid = values != 3
    made = Cut.of(states)

    found = cover_largest(made.firsts, made.stops, values, valid, made.before)

    for stretch, place in enumerate(found):
        here = counting(states, made.starts[stretch], states[made.one_state[stretch]][2])
        here = [i for i in here if valid[i]]
        assert (place in here) if here else place == -1
        assert not here or values[place] == max(values[here])


def test_where_short_lived_values_pass_over_many_others_the_queue_is_given_up() -> None:
    rows = 200
    lasting = [(i, 9 * rows, 0) for i in range(rows)]
    passing = [(rows + i, 1, 0) for i in range(rows)]
    made = Cut.of([*lasting, *passing])
    values = np.concatenate([-np.arange(rows), np.arange(rows)])

    found = cover_largest(made.firsts, made.stops, values, values < rows, made.before)

    assert len(found) != len(made.before)


def test_a_sum_that_does_not_fit_wraps_around_and_comes_back() -> None:
    firsts, stops, values, before = columns(
        [(0, 2, 2**62, -1), (1, -1, 2**62, 0), (2, -1, 0, 1)], 4
    )

    # Interpreted, NumPy would warn.
    with np.errstate(over="ignore"):
        assert cover_sums(firsts, stops, values, before).tolist() == [2**62, -(2**63), 2**62]


def leaves(node: int) -> range:
    below = LEVELS + 1 - node.bit_length()
    return range((node << below) - (1 << LEVELS), (node + 1 << below) - (1 << LEVELS))


@given(st.lists(spans, max_size=8))
def test_every_leaf_of_a_range_is_under_one_of_its_nodes(given: list[Span]) -> None:
    nodes, ranges = tree_cover(*columns(given, 2), LEVELS)

    for number, span in enumerate(given):
        mine = nodes[ranges == number].tolist()
        assert sorted(leaf for node in mine for leaf in leaves(node)) == list(range(*span))
        depths = [node.bit_length() for node in mine]
        assert all(depths.count(depth) <= 2 for depth in depths)


def test_a_range_may_need_many_nodes() -> None:
    nodes, ranges = tree_cover(np.array([1]), np.array([15]), LEVELS)

    assert sorted(nodes.tolist()) == [5, 6, 9, 14, 17, 30]
    assert ranges.tolist() == [0] * 6


def test_the_whole_tree_is_covered_by_its_root() -> None:
    nodes, _ = tree_cover(np.array([0]), np.array([16]), LEVELS)

    assert nodes.tolist() == [1]

from __future__ import annotations

import numpy as np
import pyarrow as pa

from latecomer.operators.aggregates.slices import Slices
from latecomer.operators.optimistic.buckets import GONE, KEPT, NEW, Merged
from latecomer.operators.optimistic.replays import Replay

STATUS = {".": KEPT, "+": NEW, "-": GONE}


def replay(
    keys: str, status: str, states: str = "", final: str = "", *, every: int = 100
) -> Replay:
    """Return the replay of items, given the key, the change and the kept state of each.

    Items are unchanged (`.`), new (`+`) or cancelled (`-`). An `x` marks an item with a kept state.
    """
    count = len(keys)
    cuts = [0, *(at for at in range(1, count) if keys[at] != keys[at - 1]), count]
    merged = Merged(
        pa.table({"time": np.arange(count)}),
        np.array([STATUS[each] for each in status], np.int8),
        Slices(np.array(cuts)),
        np.zeros(count, np.int64),
        frozenset([0]),
    )
    masks = [np.array([c == "x" for c in text.ljust(count)]) for text in (states, final)]
    return Replay.of(merged, *masks, every)


def test_a_key_is_run_from_the_last_kept_state_before_the_first_change_on() -> None:
    found = replay("kkkkkk", "...+..", " x  xx")

    assert found.begins.tolist() == [1]
    assert found.rows.tolist() == [2, 3, 4, 5]
    assert found.slices.bounds.tolist() == [0, 4]


def test_outputs_before_the_first_change_are_as_they_were() -> None:
    found = replay("kkkkkk", "...+..", " x  xx")

    assert found.is_anew.tolist() == [False, True, True, True]


def test_without_a_kept_state_a_key_is_run_from_its_beginning() -> None:
    found = replay("kkk", ".+.", "  x")

    assert found.begins.tolist() == [-1]
    assert found.rows.tolist() == [0, 1, 2]


def test_a_key_does_not_start_from_a_state_of_another_key() -> None:
    found = replay("jjkk", "..+.", " x x")

    assert found.begins.tolist() == [-1]
    assert found.rows.tolist() == [2, 3]


def test_a_key_in_which_nothing_changed_is_not_run() -> None:
    found = replay("jjkkk", "....+", " x  x")

    assert found.rows.tolist() == [2, 3, 4]
    assert len(found.slices) == 1


def test_a_cancelled_item_is_not_run_and_its_state_is_not_used() -> None:
    found = replay("kkkk", ".-..", " x x")

    assert found.begins.tolist() == [-1]
    assert found.rows.tolist() == [0, 2, 3]
    # The first item is run only for its state.
    assert found.is_anew.tolist() == [False, True, True]


def test_a_key_without_items_has_nothing_to_run() -> None:
    found = replay("kk", "--", " x")

    assert found.rows.tolist() == []
    assert found.slices.bounds.tolist() == [0, 0]


def test_the_last_state_is_kept_and_one_in_every_few_others() -> None:
    few = replay("k" * 6, "+" * 6)
    many = replay("k" * 40, "+" * 40, every=3)

    # All states of six items that are not final are kept: an eighth of six is less than one.
    assert few.is_kept.tolist() == [True] * 6
    assert np.flatnonzero(many.is_kept).tolist() == [*range(2, 39, 3), 39]


def test_kept_states_after_all_changes_stay_where_they_are() -> None:
    found = replay("k" * 40, "." * 20 + "+" + "." * 19, " " * 30 + "x" + " " * 8 + "x", every=100)

    at = found.rows.tolist().index(30)
    assert found.is_behind[at]
    assert found.is_kept[at]
    assert np.count_nonzero(found.is_behind) == 2


def test_the_state_that_was_the_last_is_cleared_once_it_is_not_unless_it_is_final() -> None:
    states = " " * 19 + "x"
    open_end = replay("k" * 40, "." * 20 + "+" * 20, states, every=100)
    final = replay("k" * 40, "." * 20 + "+" * 20, states, "x" * 20, every=100)

    # With forty items that are not final, kept states are five apart; one was kept after twenty.
    assert not open_end.is_cleared.any()
    assert not final.is_cleared.any()

    near = replay("k" * 40, "." * 22 + "+" * 18, " " * 19 + "x" + " x", every=100)
    assert np.flatnonzero(near.is_cleared).tolist() == [21]
    near = replay("k" * 40, "." * 22 + "+" * 18, " " * 19 + "x" + " x", "x" * 22, every=100)
    assert not near.is_cleared.any()

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from latecomer.errors import OptionError, UpdateError
from latecomer.operators.aggregates.slices import Slices
from latecomer.operators.optimistic.folding import Folded, fold
from latecomer.operators.optimistic.replays import Replay
from latecomer.operators.optimistic.written import frozen, thawed

TOTAL = pa.schema([("total", pa.int64())])


def summed(state: int, row: Any) -> tuple[int, tuple[int]]:  # noqa: ANN401
    return state + row.x, (state + row.x,)


def last(_state: int, row: Any) -> tuple[int, tuple[int]]:  # noqa: ANN401
    return row.x, (row.x,)


def folded(
    update: Any,  # noqa: ANN401
    values: list[list[int]],
    begins: list[object],
    *,
    anew: str = "",
    kept: str = "",
    old: dict[int, object] | None = None,
) -> Folded:
    """Run a function over the values of each key; a dot marks items that do not count."""
    rows = pa.table({"x": [value for some in values for value in some]})
    count = rows.num_rows
    bounds = np.concatenate([[0], np.cumsum([len(some) for some in values])])
    masks = [np.array([c != "." for c in text.ljust(count)]) for text in (anew, kept)]
    nothing = np.zeros(count, np.bool_)
    at = np.arange(count)
    replay = Replay(at, Slices(bounds), at[:0], masks[0], masks[1], nothing, nothing)
    before = [None if each is None else frozen(each) for each in map((old or {}).get, range(count))]
    begun = pa.array([frozen(each) for each in begins], pa.binary())
    return fold(update, TOTAL, rows, replay, begun, pa.array(before, pa.binary()))


def states(found: Folded) -> list[object]:
    return [thawed(each) for each in found.states.to_pylist()]


def test_each_key_goes_on_from_its_own_state() -> None:
    found = folded(summed, [[1, 2], [], [5]], [10, 0, 100])

    assert found.made["total"].to_pylist() == [11, 13, 105]
    assert states(found) == [11, 13, 105]
    assert found.counts.tolist() == [1, 1, 1]
    assert found.is_run.all()


def test_outputs_before_the_first_change_are_not_made() -> None:
    found = folded(summed, [[1, 2, 3]], [0], anew="..")

    assert found.made["total"].to_pylist() == [6]
    assert found.is_redone.tolist() == [False, False, True]


def test_states_that_are_not_needed_are_not_kept() -> None:
    found = folded(summed, [[1, 2, 3]], [0], kept="..")

    assert states(found) == [6]


def test_if_a_state_stays_the_same_the_rest_of_the_key_is_not_run() -> None:
    found = folded(last, [[1, 2, 3], [4]], [0, 0], old={1: 2, 2: 3})

    assert found.is_run.tolist() == [True, True, False, True]
    assert found.is_redone.tolist() == [True, True, False, True]
    assert found.made["total"].to_pylist() == [1, 2, 4]
    assert states(found) == [1, 2, 4]


def test_a_state_that_is_changed_in_place_is_kept_as_it_was() -> None:
    def listed(state: list[int], row: Any) -> tuple[list[int], None]:  # noqa: ANN401
        state.append(row.x)
        return state, None

    found = folded(listed, [[1, 2], [3]], [[], []])

    assert states(found) == [[1], [1, 2], [3]]
    assert found.made.num_rows == 0
    assert found.counts.tolist() == [0, 0, 0]


def test_a_failure_names_the_row_and_the_state() -> None:
    def divided(state: int, row: Any) -> tuple[int, tuple[int]]:  # noqa: ANN401
        return state + 1, (10 // row.x,)

    with pytest.raises(UpdateError, match=r"divided failed with ZeroDiv.*x=0 and the state 1"):
        folded(divided, [[5, 0]], [0])


@pytest.mark.parametrize("returned", [3, (1, 2, 3), [0, None], None])
def test_a_function_must_return_a_state_and_outputs(returned: object) -> None:
    with pytest.raises(UpdateError) as caught:
        folded(lambda _state, _row: returned, [[5]], [0])

    assert f"must return a state and outputs; it returned {returned!r} for" in str(caught.value)
    assert "without outputs return total, None" in str(caught.value)


def test_a_state_that_cannot_be_written_down_is_refused() -> None:
    with pytest.raises(OptionError, match="a state must be one that can be saved; got"):
        frozen(lambda: 1)
    with pytest.raises(UpdateError, match=r"x=5; a state must be one that can be saved"):
        folded(lambda _state, _row: ((lambda: 1), None), [[5]], [0])

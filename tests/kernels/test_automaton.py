"""The automaton on arrays: two groups, with matches under way in the first."""

from __future__ import annotations

import numpy as np
import pytest

from latecomer.errors import PatternError
from latecomer.kernels.automaton import (
    WAITING,
    Attempts,
    Machine,
    Rows,
    Steps,
    advance,
    advance_rows,
    reachable,
    rows_of,
    unrolled,
)

A_THEN_B = Machine(
    bounds=np.array([0, 1, 1, 2]),
    to=np.array([1, 0]),
    guards=np.array([1, 0]),
    is_last=np.array([False, True]),
    event=np.array([0, 1]),
    asks=np.array([False, True, False]),
    within=10,
    is_strict=False,
    may_overlap=True,
    most=100,
    silence=0,
    absent=0,
)
NOTHING = np.zeros(0, np.int64)
NO_STEPS = Steps(NOTHING, NOTHING, NOTHING)


def numbers(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def one_group(times: list[int], met: list[int], guards: list[int] | None = None) -> Rows:
    count = len(times)
    return Rows(
        numbers(0, count),
        np.arange(count),
        numbers(*times),
        numbers(*met),
        numbers(*(guards or [0] * count)),
    )


def run(machine: Machine, rows: Rows) -> tuple[list[int], list[int], list[int]]:
    """Run one group; return the rows of all steps, the last steps, and those under way."""
    attempts = Attempts(numbers(0, 0), NOTHING, NOTHING, NOTHING)
    steps, left, lasts = advance(machine, rows, attempts, NO_STEPS, None, ())
    return steps.row.tolist(), lasts.tolist(), left.step.tolist()


def test_rows_are_taken_group_by_group() -> None:
    rows = Rows(
        numbers(0, 1, 3), numbers(1, 2, 3), numbers(4, 5, 6), numbers(2, 1, 2), numbers(0, 0, 0)
    )
    held = Attempts(numbers(0, 1, 1), numbers(0), numbers(3), numbers(0))
    steps, left, lasts = advance(
        A_THEN_B, rows, held, Steps(numbers(0), numbers(0), numbers(-1)), None, ()
    )

    assert steps.row.tolist() == [0, 1, 2, 3]
    assert steps.state.tolist() == [0, 1, 0, 1]
    assert steps.before.tolist() == [-1, 0, -1, 2]
    assert lasts.tolist() == [1, 3]
    assert left.bounds.tolist() == [0, 0, 0]


def test_a_group_without_rows_stays_as_it_is() -> None:
    rows = Rows(numbers(0, 0), NOTHING, NOTHING, NOTHING, NOTHING)
    held = Attempts(numbers(0, 1), numbers(0), numbers(3), numbers(1))
    _, left, lasts = advance(
        A_THEN_B, rows, held, Steps(numbers(0), numbers(0), numbers(-1)), None, ()
    )

    assert [part.tolist() for part in left] == [[0, 1], [0], [3], [1]]
    assert lasts.tolist() == []


def test_a_row_that_is_not_taken_is_passed_over() -> None:
    assert run(A_THEN_B, one_group([0, 1, 2], [1, 0, 2])) == ([0, 2], [1], [])


def test_a_guard_closes_an_arc() -> None:
    assert run(A_THEN_B, one_group([0, 1, 2], [1, 0, 2], [0, 1, 0])) == ([0], [], [])


def test_a_strict_match_is_given_up() -> None:
    strict = A_THEN_B._replace(is_strict=True)

    assert run(strict, one_group([0, 1, 2], [1, 0, 2])) == ([0], [], [])


def test_a_match_ends_when_its_time_is_over() -> None:
    assert run(A_THEN_B, one_group([0, 10], [1, 2])) == ([0, 1], [1], [])
    assert run(A_THEN_B, one_group([0, 11], [1, 2])) == ([0], [], [])


def test_only_one_match_is_under_way_if_they_may_not_overlap() -> None:
    alone = A_THEN_B._replace(may_overlap=False)

    assert run(alone, one_group([0, 1, 2, 3], [1, 1, 3, 1])) == ([0, 2, 3], [1], [2])


def test_two_arcs_to_one_event_are_one_way() -> None:
    twice = A_THEN_B._replace(
        bounds=numbers(0, 2, 2, 3), to=numbers(1, 1, 0), guards=numbers(1, 2, 0)
    )

    assert run(twice, one_group([0, 1, 2], [1, 0, 2], [0, 1, 0])) == ([0, 2], [1], [])
    assert run(twice, one_group([0, 2], [1, 2])) == ([0, 1], [1], [])


def test_too_many_under_way_are_refused() -> None:
    with pytest.raises(PatternError, match="than can be held"):
        run(A_THEN_B._replace(most=3), one_group([0, 1, 2, 3], [1, 1, 1, 1]))


def test_a_condition_gets_the_last_step_the_row_and_the_event() -> None:
    def holds(_: object, row: np.ndarray, *asked: object) -> bool:
        last, number, target = asked[-3:]
        return (row[last], number, target) == (0, 2, 1)

    attempts = Attempts(numbers(0, 0), NOTHING, NOTHING, NOTHING)
    rows = one_group([0, 1, 2], [1, 2, 2])
    steps, _, lasts = advance_rows(A_THEN_B, rows, attempts, NO_STEPS, holds, ())

    assert steps.row[lasts].tolist() == [2]


def test_a_complete_match_waits_until_a_row_comes_that_must_be_absent() -> None:
    waiting = A_THEN_B._replace(silence=5, absent=2)

    for rows, left in [
        (one_group([0, 1, 5], [1, 2, 0], [0, 0, 2]), []),
        (one_group([0, 1, 5], [1, 2, 0], [0, 0, 1]), [1]),
        (one_group([0, 1, 6], [1, 2, 0], [0, 0, 2]), [1]),
    ]:
        assert run(waiting, rows) == ([0, 1], [], left)
        interpreted = advance_rows(
            waiting, rows, Attempts(numbers(0, 0), NOTHING, NOTHING, NOTHING), NO_STEPS, None, ()
        )[1]
        assert interpreted.step.tolist() == left
        assert interpreted.began.tolist() == [6] * len(left)
        assert interpreted.closed.tolist() == [WAITING] * len(left)


def test_a_row_that_must_be_absent_is_compared_with_the_match() -> None:
    waiting = A_THEN_B._replace(
        silence=5, absent=2, asks=np.array([False, False, True]), within=100
    )
    rows = one_group([0, 1, 5], [1, 2, 0], [0, 0, 2])

    for answer, left in [(True, []), (False, [1])]:
        asked = []

        def holds(*given: object, answer: bool = answer, asked: list[object] = asked) -> bool:
            asked.append(given[-3:])
            return answer

        attempts = Attempts(numbers(0, 0), NOTHING, NOTHING, NOTHING)
        found = advance_rows(waiting, rows, attempts, NO_STEPS, holds, ())[1]

        # The last step of the match, the number of the row, and the place after the last event.
        assert asked == [(1, 2, 2)]
        assert found.step.tolist() == left


CHAINS = Steps(numbers(5, 6, 7, 8), numbers(0, 1, 1, 1), numbers(-1, 0, 0, 1))
"""The steps of a5 b6 b8, and of a5 b7."""


def test_rows_of_an_event_are_found_in_order() -> None:
    assert rows_of(*CHAINS, 3, numbers(0, 1), 1).tolist() == [6, 8]
    assert rows_of(*CHAINS, 3, numbers(0, 1), 0).tolist() == [5]
    assert rows_of(*CHAINS, -1, numbers(0, 1), 0).tolist() == []


def test_the_steps_that_lead_to_some_are_reachable() -> None:
    assert reachable(CHAINS.before, numbers(2)).tolist() == [True, False, True, False]
    assert reachable(CHAINS.before, NOTHING).tolist() == [False] * 4


def test_chains_are_unrolled_from_the_first_step_on() -> None:
    steps, owner = unrolled(CHAINS.before, numbers(3, 2))

    assert steps.tolist() == [0, 1, 3, 0, 2]
    assert owner.tolist() == [0, 0, 0, 1, 1]

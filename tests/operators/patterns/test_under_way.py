from __future__ import annotations

import numpy as np
import pyarrow as pa

from latecomer.kernels.automaton import Attempts, Steps
from latecomer.operators.patterns.under_way import UnderWay
from latecomer.time import TimeColumn

TIME = TimeColumn("time", "us")
ROWS = pa.table({"name": ["a", "b", "c", "d"], "time": [1, 2, 3, 4]})
# There are two attempts: a then c, and b. Row d was taken by an attempt that was given up.
STEPS = Steps(
    row=np.array([0, 1, 3, 2]), state=np.array([0, 0, 1, 1]), before=np.array([-1, -1, 0, 0])
)


def attempts(last: list[int], began: list[int], closed: list[int]) -> Attempts:
    bounds = np.array([0, len(last)])
    return Attempts(bounds, np.array(last), np.array(began), np.array(closed))


def chains(held: UnderWay) -> list[str]:
    """Return the rows of each attempt, in order."""
    found = []
    names = held.rows.column("name").to_pylist()
    for last in held.last.tolist():
        text, step = "", last
        while step >= 0:
            text = names[held.steps.row[step]] + text
            step = int(held.steps.before[step])
        found.append(text)
    return found


NUMBERS = np.array([5, 6, 8, 9]), np.array([10, 12, 13, 15])
HELD = UnderWay.of(ROWS, STEPS, attempts([3, 1], [1, 2], [0, 5]), NUMBERS)


def test_only_rows_and_steps_of_attempts_are_held() -> None:
    assert HELD.rows.column("name").to_pylist() == ["a", "b", "c"]
    assert len(HELD.steps.row) == 3
    assert chains(HELD) == ["ac", "b"]
    assert HELD.began.tolist() == [1, 2]


def test_an_attempt_that_is_given_up_leaves_nothing_behind() -> None:
    left = HELD.where(HELD.began > 1)

    assert len(left) == 1
    assert chains(left) == ["b"]
    assert left.rows.column("name").to_pylist() == ["b"]
    assert (left.began.tolist(), left.closed.tolist()) == ([2], [5])


def test_a_row_that_two_attempts_have_taken_stays_with_the_second() -> None:
    steps = Steps(np.array([0, 1, 2]), np.array([0, 1, 1]), np.array([-1, 0, 0]))
    numbers = (np.arange(4), np.arange(3))
    held = UnderWay.of(ROWS, steps, attempts([1, 2], [1, 1], [0, 0]), numbers)

    assert chains(held) == ["ab", "ac"]
    assert chains(held.where(np.array([False, True]))) == ["ac"]


def test_what_is_written_is_read_again_and_can_be_changed() -> None:
    back = UnderWay.read(HELD.tables(), HELD.arrays(), TIME)

    assert chains(back) == ["ac", "b"]
    assert (back.began.tolist(), back.closed.tolist()) == ([1, 2], [0, 5])
    assert back.steps.state.tolist() == HELD.steps.state.tolist()
    assert back.row_numbers.tolist() == [5, 6, 8]
    assert back.step_numbers.tolist() == [10, 12, 15]
    back.closed[0] |= 8
    assert back.closed.tolist() == [8, 5]


def test_rows_and_steps_that_stay_are_described_as_before() -> None:
    left = HELD.where(np.array([True, False]))

    (rows, steps), (rows_before, steps_before) = left.tables(), HELD.tables()
    assert rows.numbers.tolist() == [5, 8]
    assert rows.rows.equals(rows_before.rows.take([0, 2]))
    assert steps.numbers.tolist() == [10, 15]
    assert steps.rows.equals(steps_before.rows.take([0, 2]))


def test_the_tables_of_an_older_checkpoint_are_read() -> None:
    steps = pa.table({name: getattr(HELD.steps, name) for name in HELD.steps._fields})
    ends = pa.table({"last": HELD.last, "began": HELD.began, "closed": HELD.closed})

    back = UnderWay.read_whole([HELD.rows, steps, ends])

    assert chains(back) == ["ac", "b"]
    assert (back.began.tolist(), back.closed.tolist()) == ([1, 2], [0, 5])
    assert (back.row_numbers.tolist(), back.step_numbers.tolist()) == ([0, 1, 2], [0, 1, 2])


def test_attempts_are_given_by_the_groups_of_their_last_rows() -> None:
    # Rows a and c are of group 1, row b is of group 0; group 2 has no attempt.
    found = HELD.attempts(np.array([1, 0, 1]), np.array([0, 1, 2, 3]))

    assert found.bounds.tolist() == [0, 1, 2, 2]
    assert found.began.tolist() == [2, 1]
    assert found.closed.tolist() == [5, 0]


def test_nothing_is_under_way_at_the_beginning() -> None:
    nothing = UnderWay.none(ROWS.schema)

    assert len(nothing) == 0
    assert nothing.rows.schema == ROWS.schema
    assert len(UnderWay.read(nothing.tables(), nothing.arrays(), TIME)) == 0

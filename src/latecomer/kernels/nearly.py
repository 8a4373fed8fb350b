"""Insertion sort, for rows that are nearly in order.

A row that came a few places too late is put back by moving these few. Where rows are that close to
their places, nothing is faster; where they are not, nothing is slower, so the number of moves is
watched, and the attempt is given up early.
"""

from latecomer.batch import Positions
from latecomer.kernels.jit import kernel
from latecomer.time import Times

MOVES = 8
"""So many moves per row still cost less than another sort (`python -m benchmarks.sort --json`)."""
HEAD_START = 4_096
"""So many moves are granted before the first row."""


@kernel
def insert(times: Times, first: int, out: tuple[Times, Positions]) -> bool:
    """Sort times and their positions into `out`; give up if that takes too many moves.

    Args:
        times: In order of arrival.
        first: The position of the first one.
        out: Where to write times and positions. What they hold after giving up is of no use.

    Returns:
        Whether they are sorted.

    Cost: O(n), or O(n) moves until it gives up.
    """
    into, positions = out
    moves = 0
    for i in range(len(times)):
        time = times[i]
        place = i
        while place > 0 and into[place - 1] > time:
            into[place], positions[place] = into[place - 1], positions[place - 1]
            place -= 1
            moves += 1
            if moves > HEAD_START + MOVES * i:
                return False
        into[place], positions[place] = time, first + i
    return True

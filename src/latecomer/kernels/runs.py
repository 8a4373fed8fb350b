"""The ascending pieces of a stream, and the runs that they are appended to.

Functions take arrays and return positions. They know nothing of rows, chunks or state.
"""

from collections.abc import Sequence

import numpy as np

from latecomer.batch import Positions
from latecomer.time import Times


def ascending_pieces(times: Times) -> Positions:
    """Return where each maximal ascending piece starts; the first is at 0."""
    descents = np.flatnonzero(times[1:] < times[:-1]) + 1
    return np.concatenate([np.zeros(1, np.int64), descents])


def cuts_at_tails(piece: Times, tails: Sequence[int]) -> list[int]:
    """Return where to cut an ascending piece so that part `i` can be appended to run `i`.

    Paper: Impatience sort (Section III-B): an event goes to the first run whose tail is not
        after it.
    Symbols: tails are the last times of the runs, strictly falling.
    Departures: a whole ascending piece is placed at once. Its part in `[tails[i], tails[i-1])`
        belongs to run `i`, which is where its events would have gone one by one, because
        placing one of them does not change the tails that the next ones are compared with.

    Returns:
        `len(tails) + 2` falling positions: part `i` is `piece[cuts[i + 1] : cuts[i]]`, and part
        `len(tails)` starts a new run.
    """
    inner = piece.searchsorted(np.array(tails, np.int64), side="left").tolist()
    return [len(piece), *inner, 0]

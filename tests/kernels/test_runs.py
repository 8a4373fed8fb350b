"""Runs, compared with the paper's algorithm, event by event."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.runs import ascending_pieces, cuts_at_tails

times = st.lists(st.integers(-20, 20), min_size=1, max_size=40)


@given(times)
def test_pieces_ascend_and_cannot_be_longer(values: list[int]) -> None:
    starts = ascending_pieces(np.array(values, np.int64)).tolist()

    assert starts[0] == 0
    for start, stop in zip(starts, [*starts[1:], len(values)], strict=True):
        assert values[start:stop] == sorted(values[start:stop])
        assert stop == len(values) or values[stop] < values[stop - 1]


def place_one_by_one(events: list[int], tails: list[int]) -> list[list[int]]:
    """Append each event to the first run whose tail is not after it, as the paper does."""
    parts: list[list[int]] = [[] for _ in range(len(tails) + 1)]
    tails = list(tails)
    for event in events:
        run = next((i for i, tail in enumerate(tails) if tail <= event), len(tails))
        parts[run].append(event)
        tails[run : run + 1] = [event]
    return parts


@given(piece=times.map(sorted), tails=st.sets(st.integers(-20, 20), max_size=8))
def test_a_piece_is_cut_where_its_events_would_have_gone(piece: list[int], tails: set[int]) -> None:
    falling = sorted(tails, reverse=True)
    cuts = cuts_at_tails(np.array(piece, np.int64), falling)
    parts = [piece[cuts[i + 1] : cuts[i]] for i in range(len(falling) + 1)]

    assert parts == place_one_by_one(piece, falling)

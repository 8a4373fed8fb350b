from __future__ import annotations

import numpy as np
import pytest

from latecomer.kernels.window_probes import BY_KEY, FOUND, STAR
from latecomer.operators.window_join.layout import Layout
from tests.support.window_joins import CONDITIONS


@pytest.mark.parametrize(
    ("name", "how"),
    [("cross", BY_KEY), ("key", BY_KEY), ("star", STAR), ("path", FOUND), ("circle", FOUND)],
)
def test_results_are_counted_without_being_found_where_that_can_be(name: str, how: int) -> None:
    many, on, _ = CONDITIONS[name]

    assert Layout(on, [1] * many, "counts", has_condition=False).how == how
    assert Layout(on, [1] * many, "results", has_condition=False).how == FOUND
    assert Layout(on, [1] * many, "counts", has_condition=True).how == FOUND


def test_each_stream_line_and_key_has_a_chain_of_its_own() -> None:
    _, on, _ = CONDITIONS["star"]
    codes = np.array([[0, 1, 2, -1], [0, -1, 0, 0]])

    (_, _, bases, pairs, arms, _), chains = Layout(on, [1, 1, 1], "counts", has_condition=False).of(
        codes
    )

    # Stream 1 shares three keys with stream 0, and one with stream 2.
    assert bases[:, :, 0].tolist() == [[0, -1, -1], [3, 6, -1], [-1, 7, -1]]
    # One more chain is always empty.
    assert chains == 8 + 1
    assert bases[:, :2, 2].tolist() == [[3, -1], [0, 7], [-1, 6]]
    # Rows are only in the chains of the centre.
    assert bases[1, :2, 1].tolist() == [1, 1]
    assert (bases[0, 0, 1], bases[2, 1, 1]) == (0, 0)
    assert (pairs.tolist(), arms.tolist()) == ([[1, 0], [1, 2]], [0, -1, 1])

"""The model of recall, compared with its equations, and its search, with trying all waits."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels.recall_model import recall, smallest_wait, upto

Model = tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int]]


@st.composite
def models(draw: st.DrawFn) -> Model:
    many, delays = draw(st.integers(2, 4)), draw(st.integers(1, 9))
    counts = np.array(
        draw(
            st.lists(
                st.lists(st.integers(0, 5), min_size=delays, max_size=delays),
                min_size=many,
                max_size=many,
            )
        ),
        float,
    )
    counts[:, 0] += 1
    each = {"min_size": many, "max_size": many}
    ahead = draw(st.lists(st.integers(0, 3), **each))
    windows = draw(st.lists(st.integers(1, 60), **each))
    steps = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    shares = np.cumsum(counts, axis=1) / counts.sum(axis=1, keepdims=True)
    return shares, np.array(ahead), np.array(windows), steps


def by_the_equations(wait: int, model: Model) -> float:
    """Compute Eq. 2 to 5, with the pdf of delays at the join, and a window of basic windows."""
    shares, ahead, windows, (granularity, basic) = model
    many = len(windows)

    def upto(i: int, delay: int) -> float:
        at = wait + ahead[i] + delay
        return float(shares[i, at]) if at < shares.shape[1] else 1.0

    def size(i: int) -> float:
        n = -(-int(windows[i]) // basic)
        parts = [basic * upto(i, (part - 1) * basic // granularity) for part in range(1, n)]
        return sum(parts) + (windows[i] - (n - 1) * basic) * upto(i, (n - 1) * basic // granularity)

    def others(i: int, sizes: list[float]) -> float:
        return float(np.prod([s for j, s in enumerate(sizes) if j != i]))

    produced = sum(upto(i, 0) * others(i, [size(j) for j in range(many)]) for i in range(many))
    return produced / sum(others(i, list(windows)) for i in range(many))


@given(model=models(), wait=st.integers(0, 10))
def test_the_recall_is_that_of_the_equations(model: Model, wait: int) -> None:
    assert np.isclose(recall(wait, *model), by_the_equations(wait, model))


@given(
    model=models(),
    enough=st.floats(0, 1.2),
    ratios=st.lists(st.sampled_from([0.0, 0.7, 0.9, 1.0, 1.1]), min_size=1, max_size=12),
)
def test_the_search_finds_what_trial_and_error_finds(
    model: Model, enough: float, ratios: list[float]
) -> None:
    expected = 0
    while expected < len(ratios) and ratios[expected] * recall(expected, *model) < enough:
        expected += 1

    assert smallest_wait(enough, np.array(ratios), model) == expected


def test_where_only_equal_times_join_a_window_is_as_full_as_its_newest_part() -> None:
    shares = np.array([[0.5, 1.0], [0.8, 1.0]])

    found = recall(0, shares, np.array([0, 0]), np.array([0, 0]), (10, 10))

    assert found == 0.4


def test_a_wait_that_misses_the_recall_by_a_tiny_amount_is_not_enough() -> None:
    shares = np.array([[0.5, 1.0], [0.8, 1.0]])
    model = shares, np.array([0, 0]), np.array([0, 0]), (10, 10)

    assert smallest_wait(0.4, np.ones(2), model) == 0
    assert smallest_wait(0.4 * (1 + 1e-12), np.ones(2), model) == 1


def test_shares_add_up_and_nothing_is_missing_where_nothing_is_counted() -> None:
    assert upto(np.array([2, 0, 1, 1]), 4).tolist() == [0.5, 0.5, 0.75, 1.0]
    assert upto(np.zeros(2, np.int64), 0).tolist() == [1.0, 1.0]

"""ADWIN, compared with that of river, and its purpose: to notice changes."""

import numpy as np
import pytest

from latecomer.kernels.adwin import VARIANCE, adwin, adwin_state, bucket_sizes

DELTA = 0.002


def phases(seed: int, means: tuple[float, ...]) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.concatenate(
        [(random.random(random.integers(50, 900)) < mean).astype(float) for mean in means]
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_window_is_as_long_as_rivers_after_each_value(seed: int) -> None:
    drift = pytest.importorskip("river.drift")
    values = phases(seed, (0.2, 0.9, 0.5, 0.45, 0.0, 1.0))
    # River's own update starts again after each cut; the window itself does not.
    theirs = drift.ADWIN(delta=DELTA)._helper
    expected = []
    for value in values:
        theirs.update(float(value))
        expected.append(theirs.get_width())

    state = adwin_state()
    widths = adwin(values, state, DELTA, 1.0)

    assert widths.tolist() == expected
    assert state[3][VARIANCE] == pytest.approx(theirs.get_variance(), abs=1e-9)


def test_the_window_grows_while_nothing_changes_and_is_cut_when_something_does() -> None:
    values = np.concatenate([np.tile([0.0, 0.5], 400), np.full(200, 1.0)])

    widths = adwin(values, adwin_state(), DELTA, 1.0)

    assert widths[799] == 800
    assert widths[-1] < 300


def test_the_unit_of_the_values_does_not_matter() -> None:
    values = phases(7, (0.1, 0.6, 0.3))

    thousands = adwin(1000 * values, adwin_state(), DELTA, 1000.0)

    assert adwin(values, adwin_state(), DELTA, 1.0).tolist() == thousands.tolist()


def test_values_may_come_in_parts() -> None:
    values, state = phases(8, (0.1, 0.9)), adwin_state()

    parts = [adwin(part, state, DELTA, 1.0) for part in np.array_split(values, 7)]

    assert np.concatenate(parts).tolist() == adwin(values, adwin_state(), DELTA, 1.0).tolist()


def test_buckets_add_up_to_the_window_and_grow_towards_its_old_end() -> None:
    state = adwin_state()
    widths = adwin(np.zeros(100), state, 0.002, 1.0)

    sizes = bucket_sizes(state).tolist()
    assert sum(sizes) == widths[-1] == 100
    assert sizes == sorted(sizes)

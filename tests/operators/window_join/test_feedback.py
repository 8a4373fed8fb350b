"""The recall that feedback asks for, given the results so far."""

from dataclasses import dataclass

import numpy as np
import pytest

from latecomer.operators.window_join.feedback import (
    AIM,
    Calibration,
    PaperFeedback,
    Seen,
)
from latecomer.operators.window_join.result_size_monitor import ResultSizeMonitor
from latecomer.waits.controller import LAX


@dataclass
class Known:
    """A hindsight with given results."""

    counts: tuple[float, float]

    def settled(self) -> tuple[float, float]:
        return self.counts


def seen(counts: tuple[float, float] | None) -> Seen:
    known = None if counts is None else Known(counts)
    return Seen(0, ResultSizeMonitor(), 0.0, known)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("produced", "asked"),
    # The two previous intervals and the next one have 100 true results each; 270 of 300 are needed.
    [(200.0, 0.7), (180.0, 0.9), (160.0, 1.0), (290.0, 0.0)],
)
def test_the_papers_feedback_asks_for_the_results_that_the_period_lacks(
    produced: float, asked: float
) -> None:
    feedback, monitor = PaperFeedback(0.9, period=30, interval=10), ResultSizeMonitor()
    monitor.add(np.array([95]), np.array([produced]))

    feedback.instant(Seen(90, ResultSizeMonitor(), 100.0, None))

    assert feedback.instant(Seen(100, monitor, 100.0, None)) == pytest.approx(asked)


def test_calibration_asks_for_the_target_until_results_are_known() -> None:
    assert Calibration(0.99, 60, 1).instant(seen(None)) == pytest.approx(1 - 0.01 * AIM)
    assert Calibration(1.0, 60, 1).instant(seen((5.0, 10.0))) == 1.0


def test_calibration_settles_where_the_model_is_wrong_by_a_factor() -> None:
    feedback, produced, true = Calibration(0.99, 60, 1), [0.0] * 90, [0.0] * 90
    asked = 1 - 0.01 * AIM
    for _ in range(3_000):
        # Twice the allowed share is missed, and the misses become known a minute and a half later.
        true.append(true[-1] + 1_000)
        produced.append(produced[-1] + 1_000 * (1 - 2 * (1 - asked)))
        asked = feedback.instant(seen((produced[-90], true[-90])))

    assert 1 - asked == pytest.approx(0.01 * AIM / 2, rel=0.02)
    assert true[-1] - produced[-1] == pytest.approx(0.01 * AIM * true[-1], rel=0.05)


def test_calibration_allows_almost_no_misses_if_all_were_missed_and_a_fifth_more_if_none_were() -> (
    None
):
    strict, lax = Calibration(0.99, 60, 1), Calibration(0.99, 60, 1)
    for number in range(1, 500):
        strict.instant(seen((0.0, 1_000.0 * number)))
        lax.instant(seen((1_000.0 * number, 1_000.0 * number)))

    assert strict.instant(seen((0.0, 500_000.0))) > 1 - 1e-9
    assert lax.instant(seen((500_000.0, 500_000.0))) == pytest.approx(1 - 0.01 * AIM * LAX)


def test_calibration_goes_on_where_it_was_saved() -> None:
    one, other = Calibration(0.99, 60, 1), Calibration(0.99, 60, 1)
    for number in range(1, 100):
        one.instant(seen((980.0 * number, 1_000.0 * number)))
        if number in (30, 80):
            other.load(one.save())

    known = seen((97_900.0, 99_900.0))
    for number in range(81, 100):
        other.instant(seen((980.0 * number, 1_000.0 * number)))
    assert one.instant(known) == other.instant(known) > 0.995


def test_misses_in_the_first_period_are_not_compensated() -> None:
    feedback = Calibration(0.99, 60, 1)
    for number in range(1, 61):
        feedback.instant(seen((0.0, 1_000.0 * number)))

    assert feedback.instant(seen((992.0, 61_000.0))) == pytest.approx(1 - 0.01 * AIM)

"""What is asked for, given what was; and the two components that tell it."""

from dataclasses import dataclass

import numpy as np
import pytest

from latecomer.operators.window_join.feedback import (
    AIM,
    HIGHEST,
    LOWEST,
    Calibration,
    PaperFeedback,
    Seen,
)
from latecomer.operators.window_join.result_size_monitor import ResultSizeMonitor


@dataclass
class Known:
    """A hindsight that says what it is told to."""

    share: float | None

    def missed(self, period: int) -> float | None:
        return self.share


def seen(missed: float | None) -> Seen:
    return Seen(0, ResultSizeMonitor(), 0.0, Known(missed))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("produced", "asked"),
    # True are 100 in the two intervals before, and will be in the next: 270 of 300 are needed.
    [(200.0, 0.7), (180.0, 0.9), (160.0, 1.0), (290.0, 0.0)],
)
def test_the_paper_asks_for_what_the_period_lacks(produced: float, asked: float) -> None:
    feedback, monitor = PaperFeedback(0.9, period=30, interval=10), ResultSizeMonitor()
    monitor.add(np.array([95]), np.array([produced]))

    feedback.instant(Seen(90, ResultSizeMonitor(), 100.0, None))

    assert feedback.instant(Seen(100, monitor, 100.0, None)) == pytest.approx(asked)


def test_calibration_stays_where_as_much_is_missed_as_is_aimed_at() -> None:
    feedback = Calibration(0.99, 60, 1)

    assert feedback.instant(seen(0.01 * AIM)) == pytest.approx(1 - 0.01 * AIM)
    assert feedback.instant(seen(None)) == pytest.approx(1 - 0.01 * AIM)


def test_calibration_settles_where_the_model_is_wrong_by_a_factor() -> None:
    feedback = Calibration(0.99, 60, 1)
    # Twice as much is missed as is allowed to be, and it is seen a minute and a half later.
    missed = [0.02] * 90
    asked = [
        feedback.instant(seen(missed[-90]))
        for _ in range(2_000)
        if missed.append(2 * 0.01 * feedback.factor) is None
    ]

    assert 1 - asked[-1] == pytest.approx(0.01 * AIM / 2, rel=1e-3)
    assert max(asked) - asked[-1] < 0.002


@pytest.mark.parametrize(("missed", "factor"), [(0.9, LOWEST), (0.0, HIGHEST)])
def test_calibration_has_bounds(missed: float, factor: float) -> None:
    feedback = Calibration(0.99, 60, 1)
    for _ in range(5_000):
        feedback.instant(seen(missed))

    assert feedback.factor == factor


def test_all_results_are_asked_for_where_all_are_wanted() -> None:
    assert Calibration(1.0, 60, 1).instant(seen(0.5)) == 1.0

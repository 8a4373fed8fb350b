from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from latecomer.demo.checks import check, check_recall
from tests.support.demo_locally import locally

if TYPE_CHECKING:
    from latecomer.demo.outcome import Outcome


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return locally(hours=30, every="1 hour")


def changed(outcome: Outcome, level: int, **changes: int | bool) -> Outcome:
    """Change one result of the first window that has three results and late flights."""
    windows = [*outcome.windows]
    at = next(i for i, window in enumerate(windows) if all(window.answers) and window.late)
    answers = [*windows[at].answers]
    answer = answers[level]
    assert answer is not None
    answers[level] = replace(answer, **changes)
    windows[at] = replace(windows[at], answers=tuple(answers))
    return replace(outcome, windows=windows)


def test_a_lost_flight_is_noticed(outcome: Outcome) -> None:
    with pytest.raises(
        AssertionError, match="1,075 flights in, 858 counted and 80 late leave 137 held; 136 are"
    ):
        check(replace(outcome, late=outcome.late.slice(1)))


def test_a_wrong_final_answer_is_noticed_even_if_the_sum_is_right(outcome: Outcome) -> None:
    windows = [*outcome.windows]
    (first, a), (second, b) = [(i, w) for i, w in enumerate(windows) if w.final][:2]
    windows[first], windows[second] = (
        replace(a, answers=b.answers),
        replace(b, answers=a.answers),
    )

    with pytest.raises(AssertionError, match="flights in time, but the last answer is"):
        check(replace(outcome, windows=windows))


@pytest.mark.parametrize("changes", [{"departures": 999}, {"is_changed": False}])
def test_an_answer_that_gets_worse_or_is_mislabelled_is_noticed(
    outcome: Outcome, changes: dict[str, int | bool]
) -> None:
    with pytest.raises(AssertionError, match="do not grow as is_changed says"):
        check(changed(outcome, 1, **changes))


def test_the_reported_recall_of_a_query_is_that_of_its_results(outcome: Outcome) -> None:
    every = {window.final.batch for window in outcome.closed if window.final}

    check_recall(outcome, [545 / 858, 724 / 858, 1.0], every)
    with pytest.raises(
        AssertionError, match=r"reported a recall of .*; its answers add up to \[545,"
    ):
        check_recall(outcome, [0.5, 0.8, 1.0], every)

"""Check the output of the demo's query. Each check raises if something is wrong.

**Every flight is counted, late, without a time, or held, exactly once.** The held flights are found
in two ways: as those missing from the outputs, and as those whose windows end after the last
watermark. Both must agree.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from latecomer.clock.watermark import Clock
from latecomer.demo.departures import SIZE_MICROS, WAIT_MICROS
from latecomer.demo.outcome import DEPARTED, places, totals
from latecomer.time import NEVER

if TYPE_CHECKING:
    from latecomer.demo.outcome import Outcome, Window


def check(outcome: Outcome) -> None:
    """Check the count of all flights, every final answer, and the early answers before it."""
    _check_account(outcome)
    _check_finals(outcome)
    for window in outcome.windows:
        _check_refined(window)


def check_recall(outcome: Outcome, told: Sequence[float], batches: Collection[int]) -> None:
    """Check the recall that the query reports for some micro-batches against their output."""
    closed = [window for window in outcome.closed if window.final and window.final.batch in batches]
    *_, final = known = totals(closed)
    if [count / final for count in known if final] != list(told):
        raise AssertionError(
            f"the query reported a recall of {told}; its answers add up to {known}"
        )


def _check_account(outcome: Outcome) -> None:
    times = DEPARTED.micros(outcome.flights, null=NEVER)
    watermark = Clock.at(int(times.max(initial=NEVER)), WAIT_MICROS[-1]).watermark
    after = sum(
        count
        for (start, _), count in places(outcome.flights).items()
        if start + SIZE_MICROS > watermark
    )
    if outcome.held != after:
        raise AssertionError(
            f"{outcome.flights.num_rows:,} flights in, {outcome.totals[-1]:,} counted and "
            f"{outcome.rows_late.total():,} late leave {outcome.held:,} held; "
            f"{after:,} are in open windows"
        )


def _check_finals(outcome: Outcome) -> None:
    plain = places(outcome.flights)
    for window in outcome.closed:
        expected = plain[window.start, window.origin] - window.late
        if window.counts[-1] != expected:
            raise AssertionError(f"{expected:,} flights in time, but the last answer is {window}")


def _check_refined(window: Window) -> None:
    said = [answer for answer in window.answers if answer]
    changes = [after.departures - before.departures for before, after in pairwise(said)]
    if min(changes, default=0) < 0 or [change > 0 for change in changes] != [
        answer.is_changed for answer in said[1:]
    ]:
        raise AssertionError(f"the answers of a window do not grow as is_changed says: {window}")

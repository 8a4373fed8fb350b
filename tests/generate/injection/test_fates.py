from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from latecomer.generate.injection.delays import Delay
from latecomer.generate.injection.fates import ALWAYS, NOT_AT_ALL, NOTHING, Fates, Injection, Part
from latecomer.generate.injection.patterns import Drift, Outage, Override, Pattern
from latecomer.kernels.overtaking import NOBODY
from latecomer.time import FOREVER, NEVER, TimeColumn

SECOND = 1_000_000


def injection(*patterns: Pattern, delay: str = "constant:5s", **more: int) -> Injection:
    asked = Injection(TimeColumn("time", "us"), None, 0.3, Delay.parse(delay), 7, patterns)
    return replace(asked, **more)  # type: ignore[arg-type]


def fates(asked: Injection, times: list[int | None], names: list[str] | None = None) -> Fates:
    """Return the fates of rows that arrive at their times."""
    rows = pa.table(
        {"time": pa.array(times, pa.int64()), "name": names or [f"n{i}" for i in range(len(times))]}
    )
    base = np.array([0 if time is None else time for time in times])
    return asked.fates(rows, base, np.arange(len(times)).astype(np.uint64), 0)


def test_a_row_arrives_when_it_did_or_a_delay_later() -> None:
    found = fates(injection(), [0, 10 * SECOND])

    assert found.early.tolist() == [0, 10 * SECOND]
    assert found.late.tolist() == [5 * SECOND, 15 * SECOND]
    assert ((found.draws >= 0) & (found.draws < 1)).all()


def test_a_row_without_a_time_is_never_delayed() -> None:
    found = fates(injection(), [None, 3])

    assert found.draws[0] == NOT_AT_ALL
    assert found.arrivals(1.0).tolist() == [0, 5 * SECOND + 3]


def test_a_row_comes_late_if_its_draw_is_below_the_share() -> None:
    found = Fates(np.array([1, 2, 3]), np.array([11, 12, 13]), np.array([0.2, 0.5, ALWAYS]))

    assert found.arrivals(0.5).tolist() == [11, 2, 13]
    assert found.arrivals(NOTHING).tolist() == [1, 2, 3]
    assert found.at(np.array([2, 0])).arrivals(0.5).tolist() == [13, 11]


def test_no_arrival_is_beyond_the_end_of_time() -> None:
    found = fates(injection(), [FOREVER - 3, -FOREVER])

    assert found.late.tolist() == [FOREVER - 1, -FOREVER + 5 * SECOND]


def test_arrivals_are_rounded_up_to_what_the_column_can_hold() -> None:
    found = fates(injection(delay="constant:1500ms", resolution=SECOND), [0, 1])

    assert found.early.tolist() == [0, SECOND]
    assert found.late.tolist() == [2 * SECOND, 2 * SECOND]
    assert fates(injection(latest=3), [1, 9]).late.tolist() == [3, 3]


def test_a_drift_makes_delays_longer_at_its_peak() -> None:
    found = fates(injection(Drift("100 seconds", 3)), [0, 50 * SECOND, 100 * SECOND])

    delays = found.late - found.early
    assert delays.tolist() == [5 * SECOND, 15 * SECOND, 5 * SECOND]


def test_an_outage_holds_back_rows_that_would_arrive_in_it() -> None:
    found = fates(injection(Outage(at="10s", lasts="10s")), [9 * SECOND, 10 * SECOND, 19 * SECOND])

    assert found.early.tolist() == [9 * SECOND, 20 * SECOND, 20 * SECOND]
    # Delayed by 5 seconds, the first row would arrive in the outage, and the last row after it.
    assert found.late.tolist() == [20 * SECOND, 20 * SECOND, 24 * SECOND]


@pytest.mark.parametrize(("fraction", "expected"), [(1.0, ALWAYS), (0.0, NOT_AT_ALL)])
def test_an_override_with_a_fraction_decides_whatever_the_share(
    fraction: float, expected: float
) -> None:
    asked = injection(Override("name", "a", fraction=fraction))

    found = fates(asked, [1, 2], ["a", "b"])

    assert found.draws[0] == expected
    assert 0 <= found.draws[1] < 1


def test_an_override_gives_its_rows_delays_of_their_own() -> None:
    asked = injection(Override("name", "a", delay="constant:1s"))

    assert fates(asked, [0, 0], ["a", "b"]).late.tolist() == [SECOND, 5 * SECOND]


def part(times: list[int], base: list[int], late: list[int], draws: list[float]) -> Part:
    early = np.array(base)
    return Part(
        np.array(times), early, np.arange(len(times)), Fates(early, np.array(late), np.array(draws))
    )


# In the source, the row of time 2 comes after that of time 3.
STREAM = part([1, 2, 3, 4], [1, 3, 2, 4], [9, 9, 9, 9], [0.1, 0.2, 0.3, 0.4])


def test_a_row_is_out_of_order_if_a_later_one_comes_before_it() -> None:
    assert STREAM.out_of_order(NOBODY).tolist() == [False, True, False, False]


def test_rows_that_are_to_be_left_are_never_delayed() -> None:
    left = STREAM.leaving(STREAM.out_of_order(NOBODY))

    assert left.fates.draws.tolist() == [0.1, NOT_AT_ALL, 0.3, 0.4]


def test_rows_out_of_order_and_rows_delayed_are_counted() -> None:
    assert STREAM.count(NOTHING, NOBODY) == (1, 0)
    # The first row comes at 9, after all others; the second is already out of order.
    assert STREAM.count(0.15, NOBODY) == (2, 1)


def test_rows_after_this_stretch_of_time_overtake_too() -> None:
    first_of_later = (0, 0)

    assert STREAM.count(NOTHING, first_of_later)[0] == 4
    assert STREAM.first(NOTHING)[0] == STREAM.source_first()[0] == 1
    assert STREAM.first(0.15)[0] == 2


def test_rows_that_never_arrive_stay_lost() -> None:
    assert injection()._rounded(np.array([NEVER, 3])).tolist() == [NEVER, 3]

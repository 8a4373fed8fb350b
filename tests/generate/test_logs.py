"""The simulated logs: their invariants, and at two million rows the measures that were tuned.

The limits should hold for any seed of the random numbers, not only for this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
import pytest

from latecomer.errors import OptionError
from latecomer.generate.logs import FAILURES, android_log, cloud_log
from latecomer.profile.measures import delay_counts, order_measures
from latecomer.time import HOUR, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

ROWS = 200_000
MANY = 2_000_000
BOTH = pytest.mark.parametrize("log", [cloud_log, android_log])
needs_speed = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="plain Python takes minutes for two million rows"
)


def columns(table: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(table[name].to_numpy() for name in ("time", "arrival", "source"))


def percent_in_time(table: pa.Table, *waits: int) -> list[float]:
    return [
        100 * rows / table.num_rows
        for rows in delay_counts(table["time"].to_numpy()).in_time(waits)
    ]


@BOTH
@pytest.mark.parametrize("rows", [0, 1, 7, 10_000, ROWS])
def test_there_are_as_many_rows_as_asked_for(log: Callable, rows: int) -> None:
    table = log(rows, 1)

    assert table.num_rows == rows
    assert table.schema.names == ["time", "arrival", "source"]
    assert [str(kind) for kind in table.schema.types] == ["int64", "int64", "int32"]


@BOTH
def test_rows_come_by_arrival_and_then_by_time(log: Callable) -> None:
    times, arrivals, _ = columns(log(ROWS, 1))
    same = np.diff(arrivals) == 0

    assert np.all(np.diff(arrivals) >= 0)
    assert np.all(np.diff(times)[same] >= 0)


@BOTH
def test_no_row_arrives_before_its_time(log: Callable) -> None:
    times, arrivals, _ = columns(log(ROWS, 1))

    assert np.all(times <= arrivals)


@BOTH
def test_equal_seeds_give_equal_logs_and_others_do_not(log: Callable) -> None:
    assert log(1_000, 1) == log(1_000, 1)
    assert log(1_000, 1) != log(1_000, 2)


@BOTH
def test_a_negative_number_of_rows_is_refused(log: Callable) -> None:
    with pytest.raises(OptionError, match="rows cannot be negative; got -5\\.\nHint: "):
        log(-5, 1)


def test_traffic_in_the_cloud_falls_to_a_third() -> None:
    times = np.sort(cloud_log(ROWS, 1)["time"].to_numpy())
    busy, quiet = times[: ROWS * 3 // 4], times[ROWS * 3 // 4 :]

    assert len(busy) / np.ptp(busy) * SECOND == pytest.approx(6_000, rel=0.02)
    assert len(quiet) / np.ptp(quiet) * SECOND == pytest.approx(2_000, rel=0.02)


def test_a_server_sends_in_order_but_for_what_was_forgotten() -> None:
    times, _, servers = columns(cloud_log(ROWS, 1))

    assert set(servers) == set(range(500))
    for server in range(1, 500):
        assert np.all(np.diff(times[servers == server]) >= 0)


def test_outside_failures_a_row_is_underway_for_less_than_half_a_second() -> None:
    times, arrivals, servers = columns(cloud_log(MANY, 1))
    shares = np.searchsorted(np.sort(times), times) / MANY
    is_calm = servers != 0
    for failure in FAILURES:
        before, after = failure.start - 0.01, failure.start + failure.length + 0.01
        is_calm &= (shares < before) | (shares > after)
    underway = (arrivals - times)[is_calm]

    assert np.count_nonzero(is_calm) > MANY / 2
    assert 0 < underway.min() <= underway.max() < 400_000


def test_a_failed_server_sends_its_backlog_at_one_instant() -> None:
    times, arrivals, servers = columns(cloud_log(MANY, 1))
    begin, end = np.sort(times)[[int(0.62 * MANY), int(0.635 * MANY)]]
    backlogs = {
        server: set(arrivals[(servers == server) & (times > begin) & (times < end - SECOND)])
        for server in range(500)
    }
    back = sorted(instants.pop() for instants in backlogs.values() if len(instants) == 1)

    assert len(back) == 360
    assert back[0] == end
    assert set(np.diff(back)) == {10_000}


def test_forgotten_rows_are_found_when_most_of_the_log_is_over() -> None:
    times, arrivals, servers = columns(cloud_log(MANY, 1))
    ascending = np.sort(times)
    start, stop, found = ascending[[int(s * MANY) for s in (0.25, 0.2533, 0.9317857)]]
    forgotten = (servers == 0) & (times >= start) & (times < stop)

    assert np.count_nonzero(forgotten) > 0
    assert set(arrivals[forgotten]) == {found}
    assert (arrivals - times).max() == (arrivals - times)[forgotten].max()


@needs_speed
def test_the_cloud_log_is_disordered_like_the_real_one() -> None:
    table = cloud_log(MANY, 3)
    found = order_measures(table["time"].to_numpy())

    assert 1.10e9 < found.inversions < 1.25e9
    assert found.distance == pytest.approx(0.6817 * MANY, rel=0.002)
    assert found.runs == pytest.approx(7_382_495 / 10, rel=0.01)
    assert 235 <= found.interleaved <= 265
    assert percent_in_time(table, SECOND, HOUR) == pytest.approx([97.97, 100], abs=0.05)


def test_phones_upload_in_order_each_time_all_at_once() -> None:
    times, arrivals, phones = columns(android_log(ROWS, 1))

    assert set(phones) == set(range(228))
    for phone in range(228):
        assert np.all(np.diff(times[phones == phone]) >= 0)
    uploads = [len(set(arrivals[phones == phone])) for phone in range(228)]
    assert uploads == [125] * 43 + [1] * 185


def test_desk_phones_have_a_fifth_of_the_rows_and_the_last_phone_few() -> None:
    phones = android_log(MANY, 1)["source"].to_numpy()

    assert np.mean(phones < 43) == pytest.approx(0.1995, abs=1e-3)
    assert np.count_nonzero(phones == 227) == pytest.approx(0.0011 * MANY, abs=1)


def test_the_last_phone_comes_when_all_others_have_come() -> None:
    times, arrivals, phones = columns(android_log(ROWS, 1))
    is_last = phones == 227
    (arrival,) = set(arrivals[is_last])

    assert arrival > arrivals[~is_last].max()
    assert arrival >= 12.1 * HOUR
    assert np.ptp(times[is_last]) == pytest.approx(27 * HOUR, rel=0.05)


def test_pocket_phones_were_away_for_14_to_33_and_a_half_hours() -> None:
    times, arrivals, phones = columns(android_log(MANY, 1))
    away = [(arrivals - times)[phones == phone].max() / HOUR for phone in range(43, 227)]

    assert 13.9 < min(away) < 14.5
    assert 33 < max(away) <= 33.5


@needs_speed
def test_the_android_log_is_disordered_like_the_real_one() -> None:
    table = android_log(MANY, 3)
    found = order_measures(table["time"].to_numpy())

    assert found.inversions == pytest.approx(0.18251 * MANY**2, rel=0.003)
    assert found.distance == pytest.approx(0.9995 * MANY, rel=0.0001)
    assert found.runs == 5_560
    assert 216 <= found.interleaved <= 222
    waits = (HOUR // 6, HOUR, 24 * HOUR)
    assert percent_in_time(table, *waits) == pytest.approx([20.52, 23.33, 92.24], abs=0.05)

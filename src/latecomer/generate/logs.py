"""Two simulated logs, disordered as two real ones are.

The Impatience paper measures the log of a cloud application and the uploads of a crowd of phones.
Neither is public. The models here were made up so that 20 million rows have the disorder that the
paper reports. Everything else about them, the rates, the servers, the hours, is invented.
`python -m benchmarks.simulated_logs --json` compares them with the paper.

**The cloud log** is chaotic at a fine scale and in order at a coarse one. Servers send what they
record in small groups, over networks of different length, so that neighbouring rows change places
all the time. Now and then some servers are cut off. They keep recording, and when they are back
each sends its backlog, one server after the other:

    arrival ──────▶                 cut off        back
    server 1    1  4  7             ┆              ┆ 10 13 16 19
    server 2     2  5  8            ┆              ┆             11 14 17 20
    server 3      3  6  9      12   ┆  15     18   ┆                         21

Each backlog ascends, but all of them cover the same minutes, so sorting needs one run per failed
server. In addition, a few rows stay on a disk and arrive after most of the log has been written.

**The Android log** is the other way round: in order at a fine scale, disordered at a coarse one.
Phones upload their rows in order, and only on a charger. Desk phones are always on it and upload
every few minutes. Pocket phones upload once, after most of a day or more, and send everything at
once. The stream consists of a few thousand long ascending runs, and most of its rows are hours old.

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Section II, Table I.
Holds: arrivals never descend, and the rows that a source sends at one arrival are in time order.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from latecomer.errors import OptionError
from latecomer.time import HOUR, SECOND, Times

Sources = npt.NDArray[np.int32]

MILLISECOND = 1_000

SERVERS = 500
BUSY_RATE, QUIET_RATE = 6_000, 2_000
"""Rows per second of all servers together."""
BUSY_SHARE = 0.75
"""The share of the rows that is recorded before traffic falls."""
FLUSH_PERIOD = 75 * MILLISECOND
"""Time between two sends of a server. Jitter is less, so a server's rows keep their order."""
LONGEST_NETWORK = 250 * MILLISECOND
BETWEEN_BACKLOGS = 10 * MILLISECOND
"""Time between the backlogs of two servers that failed together."""
FORGOTTEN = (0.25, 0.2533)
"""Shares of the log between which the rows of server 0 stay on a disk."""
FOUND = 0.25 + 0.6817857
"""Share of the log at which these rows arrive."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Some servers that cannot send for a while; its start and length are shares of the log."""

    start: float
    length: float
    servers: int


FAILURES = (
    Failure(0.08, 0.014, 40),
    Failure(0.18, 0.055, 5),
    Failure(0.34, 0.014, 85),
    Failure(0.47, 0.014, 140),
    Failure(0.62, 0.015, 360),
)

SPAN = 12.1 * HOUR
"""Length of the Android log. Times before its beginning are negative."""
DESK_PHONES, DESK_UPLOADS = 43, 125
DESK_SHARE = 0.1995
"""The share of all rows that desk phones record."""
POCKET_PHONES = 185
SHORTEST_AWAY, LONGER_AWAY = 14 * HOUR, 19.5 * HOUR
"""A pocket phone is away for the first of these, plus up to the second."""
GOLDEN = 0.6180339887498949
"""Golden ratio. Its multiples, modulo 1, spread short and long absences evenly over the log."""
LAST_AWAY = 27 * HOUR
LAST_SHARE = 0.0011


def cloud_log(rows: int, seed: int) -> pa.Table:
    """Simulate the log of a cloud application.

    Args:
        rows: Number of rows. With fewer rows the failures are shorter; network delays stay equal.
        seed: Equal seeds give equal logs.

    Returns:
        `time` and `arrival` in microseconds and `source`, the server, in order of arrival.

    Raises:
        OptionError: The number of rows is negative.
    """
    _check(rows)
    random = np.random.default_rng(seed)
    times = _cloud_times(rows, random)
    servers = random.integers(0, SERVERS, rows, np.int32)
    arrivals = _over_the_network(times, servers, random)
    if rows:
        for failure in FAILURES:
            failed = random.choice(SERVERS, failure.servers, replace=False)
            _hold_back(failure, failed, times, servers, arrivals)
        start, stop = (_row(share, rows) for share in FORGOTTEN)
        forgotten = start + np.flatnonzero(servers[start:stop] == 0)
        arrivals[forgotten] = times[_row(FOUND, rows)]
    order = np.argsort(arrivals, kind="stable")
    return _table(times[order], arrivals[order], servers[order])


def _cloud_times(rows: int, random: np.random.Generator) -> Times:
    gaps = random.standard_exponential(rows)
    busy = int(BUSY_SHARE * rows)
    gaps[:busy] *= SECOND / BUSY_RATE
    gaps[busy:] *= SECOND / QUIET_RATE
    return np.cumsum(gaps, out=gaps).astype(np.int64)


def _over_the_network(times: Times, servers: Sources, random: np.random.Generator) -> Times:
    """Return the arrival that each row would have if no server failed."""
    phases = random.integers(0, FLUSH_PERIOD, SERVERS)
    networks = random.integers(0, LONGEST_NETWORK, SERVERS, endpoint=True)
    first = phases[servers]
    # Flushes are counted from 0; a row leaves with the first one strictly after its time.
    flushes = (times - first) // FLUSH_PERIOD + 1
    count = int(flushes.max(initial=-1)) + 1
    jitter = random.integers(0, FLUSH_PERIOD, (count, SERVERS), np.int32)
    arrivals = jitter[flushes, servers].astype(np.int64)
    arrivals += first
    arrivals += flushes * FLUSH_PERIOD
    arrivals += networks[servers]
    return arrivals


def _hold_back(
    failure: Failure, failed: npt.NDArray[np.int64], times: Times, servers: Sources, arrivals: Times
) -> None:
    """Move arrivals from failed servers to the moment when each server is back, in place."""
    rows = len(times)
    begin = times[_row(failure.start, rows)]
    end = times[_row(failure.start + failure.length, rows)]
    back = np.full(SERVERS, begin)
    back[failed] = end + BETWEEN_BACKLOGS * np.arange(len(failed))
    # Only rows recorded within these bounds can arrive while a server is cut off.
    longest = 2 * FLUSH_PERIOD + LONGEST_NETWORK
    near = slice(*np.searchsorted(times, [begin - longest, back.max()]))
    until = back[servers[near]]
    is_held = (arrivals[near] >= begin) & (arrivals[near] < until)
    arrivals[near] = np.where(is_held, until, arrivals[near])


def _row(share: float, rows: int) -> int:
    return min(int(share * rows), rows - 1)


@dataclass(frozen=True, slots=True)
class Uploads:
    """Uploads of phones. Each covers a stretch of time, and arrives as a whole at its end."""

    phones: Sources
    starts: npt.NDArray[np.float64]
    stops: npt.NDArray[np.float64]

    def rows(self, count: float) -> npt.NDArray[np.float64]:
        """Return the rows of each upload: `count`, in proportion to the time that each covers."""
        covered = self.stops - self.starts
        return count * covered / covered.sum()


def android_log(rows: int, seed: int) -> pa.Table:
    """Simulate the uploads of many phones, with the columns of `cloud_log`; sources are phones.

    With fewer rows each phone records less; the number of phones and the hours stay the same.
    """
    _check(rows)
    random = np.random.default_rng(seed)
    desk, pocket = _desk_uploads(random), _pocket_uploads(random)
    last_stop = np.floor(max(SPAN, desk.stops.max())) + 1
    last = Uploads(
        np.array([DESK_PHONES + POCKET_PHONES - 1], np.int32),
        np.array([last_stop - LAST_AWAY]),
        np.array([last_stop]),
    )
    uploads, shares = (desk, pocket, last), (DESK_SHARE, 1 - DESK_SHARE - LAST_SHARE, LAST_SHARE)
    phones = np.concatenate([each.phones for each in uploads])
    starts = np.concatenate([each.starts for each in uploads])
    stops = np.concatenate([each.stops for each in uploads])
    parts = zip(uploads, shares, strict=True)
    shared_out = np.concatenate([each.rows(share * rows) for each, share in parts])
    order = np.argsort(stops, kind="stable")
    ends = np.rint(np.cumsum(shared_out[order])).astype(np.int64)
    counts = np.diff(ends, prepend=0)
    times = np.empty(rows, np.int64)
    for upload, end, count in zip(order, ends, counts, strict=True):
        drawn = random.uniform(starts[upload], stops[upload], count)
        times[end - count : end] = np.sort(np.floor(drawn, out=drawn))
    arrivals = np.repeat(stops[order].astype(np.int64), counts)
    return _table(times, arrivals, np.repeat(phones[order], counts))


def _desk_uploads(random: np.random.Generator) -> Uploads:
    """Cut each desk phone's time at roughly even distances; each piece is an upload."""
    early = random.random((DESK_PHONES, 1))
    off = random.uniform(0, 0.5, (DESK_PHONES, DESK_UPLOADS + 1))
    cuts = (np.arange(DESK_UPLOADS + 1) - early + off) * (SPAN / DESK_UPLOADS)
    phones = np.repeat(np.arange(DESK_PHONES, dtype=np.int32), DESK_UPLOADS)
    return Uploads(phones, cuts[:, :-1].ravel(), cuts[:, 1:].ravel())


def _pocket_uploads(random: np.random.Generator) -> Uploads:
    """Return the uploads of all pocket phones but the last, at roughly even distances."""
    numbers = np.arange(POCKET_PHONES - 1)
    plugged = (numbers + random.uniform(0.5, 1, len(numbers))) * (SPAN / POCKET_PHONES)
    away = SHORTEST_AWAY + LONGER_AWAY * ((numbers + 1) * GOLDEN % 1)
    return Uploads((DESK_PHONES + numbers).astype(np.int32), plugged - away, plugged)


def _check(rows: int) -> None:
    if rows < 0:
        message = f"rows cannot be negative; got {rows:,}.\nHint: the paper's logs have 20 million."
        raise OptionError(message)


def _table(times: Times, arrivals: Times, sources: Sources) -> pa.Table:
    return pa.table({"time": times, "arrival": arrivals, "source": sources})

"""Make the synthetic streams of the paper on quality-driven joins.

There are three or four streams of a hundred rows a second, side by side for half an hour. The time
of a row is its arrival minus a delay: none for most rows, up to 20 seconds for a few, by Zipf's
law. Each row has attributes to join by. Their values are now mostly equal, now spread out, so that
the size of the result keeps changing:

    streams   attributes              skew of the delays    joined by
    3         S1 to S3: a1            2, 3, 3               S1.a1 = S2.a1 = S3.a1
    4         S1: a1, a2, a3;         3, 3, 3, 4            S1.a1 = S2.a1, S1.a2 = S3.a2,
              S2: a1; S3: a2; S4: a3                        S1.a3 = S4.a3

By Zipf's law with skew z, the value of rank r is drawn in proportion to 1 / r^z: all are equally
likely for 0, and the first is drawn nearly always for 5.

Paper: Ji, Sun, Nica, Jerzak, Hackenbroich, Fetzer: Quality-Driven Disorder Handling for m-way
    Sliding Window Stream Joins (ICDE 2016), Section VI, datasets D×3syn and D×4syn.
Symbols: iT is `arrival`, ts is `time`, zd the skew of the delays, za the skew of an attribute.
Departures: the paper lists the skew zd1 of four streams twice; the last is meant for zd4. It does
    not say in what steps delays are drawn: ours are multiples of 0.1 s, starting with 0. Nor how a
    new skew is drawn: ours uniformly, like the time until it changes. Streams begin at time 0, so
    a delayed row at the beginning has a negative time.
Holds: arrivals ascend, one every 10 ms, and are the same in all streams.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from latecomer.errors import OptionError
from latecomer.time import MINUTE, SECOND

BETWEEN_ROWS = 10_000
"""Microseconds from one row of a stream to the next."""
DELAY_STEP = SECOND // 10
LONGEST_DELAY = 20 * SECOND
LARGEST_VALUE = 100
"""Attributes are whole numbers from 1 up to this one."""
FIRST_SKEW, LARGEST_SKEW = 1.0, 5.0
SHORTEST_PHASE, LONGEST_PHASE = 1 * MINUTE, 10 * MINUTE
"""Bounds of the time for which the skew of an attribute stays the same."""

DELAY_SKEWS = {3: (2.0, 3.0, 3.0), 4: (3.0, 3.0, 3.0, 4.0)}
ATTRIBUTES = {
    3: (("a1",), ("a1",), ("a1",)),
    4: (("a1", "a2", "a3"), ("a1",), ("a2",), ("a3",)),
}


def join_streams(streams: Literal[3, 4], *, seed: int, minutes: float = 30) -> dict[str, pa.Table]:
    """Make three or four streams to be joined.

    Args:
        streams: Number of streams.
        seed: Equal seeds give equal streams.
        minutes: Length of the streams.

    Returns:
        For "S1", "S2" and so on: `time` and `arrival`, in microseconds, and the attributes, in
        order of arrival.

    Raises:
        OptionError: The number of streams is neither 3 nor 4, or `minutes` is negative.
    """
    if streams not in DELAY_SKEWS:
        message = f"there are 3 streams or 4; got {streams!r}.\nHint: the paper joins no others."
        raise OptionError(message)
    if not minutes >= 0:
        message = f"minutes cannot be negative; got {minutes}.\nHint: the paper's streams last 30."
        raise OptionError(message)
    random = np.random.default_rng(seed)
    rows = int(minutes * MINUTE) // BETWEEN_ROWS
    arrivals = np.arange(1, rows + 1, dtype=np.int64) * BETWEEN_ROWS
    made = {}
    parts = zip(DELAY_SKEWS[streams], ATTRIBUTES[streams], strict=True)
    for number, (skew, names) in enumerate(parts, 1):
        steps = zipf(skew, LONGEST_DELAY // DELAY_STEP + 1, rows, random) - 1
        attributes = {name: _changing_attribute(arrivals, random) for name in names}
        columns = {"time": arrivals - DELAY_STEP * steps, "arrival": arrivals}
        made[f"S{number}"] = pa.table(columns | attributes)
    return made


def zipf(skew: float, ranks: int, rows: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw ranks from 1 to `ranks`, each in proportion to its power of -`skew`."""
    up_to = np.cumsum(np.arange(1, ranks + 1) ** -skew)
    return np.searchsorted(up_to, random.random(rows) * up_to[-1], side="right") + 1


def _changing_attribute(
    arrivals: npt.NDArray[np.int64], random: np.random.Generator
) -> npt.NDArray[np.int64]:
    values = np.empty(len(arrivals), np.int64)
    skew, start, until = FIRST_SKEW, 0, 0.0
    while start < len(values):
        until += random.uniform(SHORTEST_PHASE, LONGEST_PHASE)
        stop = int(np.searchsorted(arrivals, until, side="right"))
        values[start:stop] = zipf(skew, LARGEST_VALUE, stop - start, random)
        skew, start = random.uniform(0, LARGEST_SKEW), stop
    return values

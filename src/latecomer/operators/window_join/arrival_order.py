"""The order of arrival of the rows of several streams, within a micro-batch.

If every stream has an arrival column, these columns decide. Otherwise it is unknown which of two
rows of different streams came first. Streams are then interleaved: each is spread evenly over the
micro-batch, in its own order:

    stream 0    a     b     c     d           a x b c y d
    stream 1       x           y
"""

from collections.abc import Sequence

import numpy as np

from latecomer.batch import Batch, Positions
from latecomer.operators.window_join.reordering import Arrivals
from latecomer.time import FOREVER, TimeColumn, Times


def arrivals_of(
    rows: Sequence[Batch],
    times: Sequence[TimeColumn],
    arrivals: Sequence[TimeColumn | None],
    numbers: Sequence[Positions],
) -> Arrivals:
    """Return the rows of all streams in one order of arrival.

    Args:
        rows: The rows of each stream, in the order in which they were read.
        times: The time column of each stream.
        arrivals: The arrival column of each stream, if any; a row without an arrival comes last.
        numbers: The numbers of the rows, for each stream.
    """
    came = [
        None if arrival is None else arrival.micros(each, null=FOREVER)
        for each, arrival in zip(rows, arrivals, strict=True)
    ]
    streams = np.concatenate([np.full(len(each), i) for i, each in enumerate(numbers)])
    happened = [time.micros(each) for each, time in zip(rows, times, strict=True)]
    everything = Arrivals(streams, np.concatenate(happened), np.concatenate(list(numbers)))
    return everything.take(_order(came, [len(each) for each in numbers]))


def _order(came: Sequence[Times | None], counts: Sequence[int]) -> Positions:
    known = [each for each in came if each is not None]
    if len(known) == len(came):
        return np.argsort(np.concatenate(known), kind="stable")
    places = []
    for arrived, count in zip(came, counts, strict=True):
        place = (np.arange(count) + 0.5) / max(count, 1)
        if arrived is not None:
            # The first row to arrive gets the first place, and so on.
            place[np.argsort(arrived, kind="stable")] = place.copy()
        places.append(place)
    return np.argsort(np.concatenate(places), kind="stable")

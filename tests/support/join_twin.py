"""The loop of the window join, tuple by tuple: the reordering before the join, and the join.

Tests put these classes in place of those that work on arrays; the results must be the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from unittest.mock import patch

import numpy as np

from latecomer.operators.window_join import hindsight, joiner, loop
from latecomer.operators.window_join.joiner import Probes, WindowJoin
from latecomer.operators.window_join.known_rows import KnownRows
from latecomer.operators.window_join.reordering import Arrivals
from latecomer.operators.window_join.tuples import Tuples
from latecomer.time import NEVER

Row = tuple[int, int, int, int]
"""Stream, time, row and delay."""


def as_tuples(rows: list[Row]) -> Tuples:
    return Tuples(*np.array(rows, np.int64).reshape(-1, 4).T.copy())


class TwinReordering:
    """A K-slack buffer for each stream, and the Synchronizer, as lists."""

    def __init__(self, streams: int) -> None:
        self.buffers: list[list[Row]] = [[] for _ in range(streams)]
        self.together: list[Row] = []
        self.newest, self.reached = [NEVER] * streams, [NEVER] * streams

    def __len__(self) -> int:
        return len(self.held)

    @property
    def held(self) -> Tuples:
        return as_tuples([*self.together, *(row for some in self.buffers for row in some)])

    @property
    def oldest(self) -> int | None:
        return min(self.held.times.tolist(), default=None)

    def push(self, arrivals: Arrivals, wait: int) -> Tuples:
        out: list[Row] = []
        columns = (arrivals.streams, arrivals.times, arrivals.rows)
        for stream, time, row in zip(*(each.tolist() for each in columns), strict=True):
            self.newest[stream] = max(self.newest[stream], time)
            delay = self.newest[stream] - time
            self.buffers[stream].append((stream, time, row, delay))
            for each in self.due(stream, wait):
                self.together.append(each)
                self.reached[stream] = max(self.reached[stream], each[1])
                out += self.let_out()
        return as_tuples(out)

    def reach(self, newest: int, wait: int) -> Tuples:
        for stream in range(len(self.buffers)):
            self.newest[stream] = max(self.newest[stream], newest)
            self.together += self.due(stream, wait)
            self.reached[stream] = max(self.reached[stream], newest - wait)
        return as_tuples(self.let_out())

    def finish(self) -> Tuples:
        held = self.held
        self.__init__(len(self.buffers))  # type: ignore[misc]
        return held.take(np.argsort(held.times, kind="stable"))

    def due(self, stream: int, wait: int) -> list[Row]:
        clock = self.newest[stream] - wait
        found = sorted((row for row in self.buffers[stream] if row[1] <= clock), key=time_of)
        self.buffers[stream] = [row for row in self.buffers[stream] if row[1] > clock]
        return found

    def let_out(self) -> list[Row]:
        clock = min(self.reached)
        found = sorted((row for row in self.together if row[1] <= clock), key=time_of)
        self.together = [row for row in self.together if row[1] > clock]
        return found


def time_of(row: Row) -> int:
    return row[1]


class TwinJoiner:
    """Algorithm 2, with windows that are lists."""

    def __init__(self, asked: WindowJoin, _answer: str) -> None:
        self.asked, self.clock = asked, NEVER
        self.windows: list[list[Row]] = [[] for _ in asked.windows]
        self.came: list[Row] = []

    @property
    def held(self) -> Tuples:
        return as_tuples([row for row in self.came if row in self.windows[row[0]]])

    def push(self, tuples: Tuples, known: KnownRows) -> Probes:
        told, results = [], []
        columns = (tuples.streams, tuples.times, tuples.rows, tuples.delays)
        for row in zip(*(each.tolist() for each in columns), strict=True):
            stream, time, _, _ = row
            in_order, found, cross = time >= self.clock, 0, 0
            if in_order:
                self.clock = time
                for i, window in enumerate(self.asked.windows):
                    self.windows[i] = [each for each in self.windows[i] if each[1] >= time - window]
                sides = [[row] if i == stream else some for i, some in enumerate(self.windows)]
                for rows in product(*sides):
                    cross += 1
                    places = known.places(as_tuples(list(rows)))
                    if self.are_equal(known.codes[:, places]):
                        found += 1
                        results.append((time, [each[2] for each in rows]))
            since = self.clock - self.asked.windows[stream]
            if time >= since:
                self.windows[stream].append(row)
                self.came.append(row)
            told.append((in_order, since, cross, found))
        in_orders, since, cross, joined = (
            (np.array(each) for each in zip(*told, strict=True)) if (told) else np.empty((4, 0))
        )
        return Probes(
            tuples,
            in_orders.astype(np.bool_),
            since.astype(np.int64),
            cross.astype(np.float64),
            joined.astype(np.float64),
            np.array([time for time, _ in results], np.int64),
            np.array([rows for _, rows in results], np.int64).reshape(-1, len(self.windows)),
        )

    def are_equal(self, codes: np.ndarray) -> bool:
        """Compare the keys of one row of each stream."""
        on = self.asked.on
        if on.key:
            return codes.min() >= 0 and len(set(codes[0].tolist())) == 1
        return all(
            line[pair.left] == line[pair.right] >= 0
            for line, pair in zip(codes, on.pairs, strict=True)
        )


@contextmanager
def line_by_line() -> Iterator[None]:
    """Make loops that start in this context use the twins."""
    with (
        patch.object(loop, "Reordering", TwinReordering),
        patch.object(hindsight, "Reordering", TwinReordering),
        patch.object(joiner, "WindowJoiner", TwinJoiner),
    ):
        yield

"""Impatience sort of times alone: when does which row come out?

`Sort` holds rows; this holds their times and positions, for callers that keep the rows themselves.
It takes rows with many watermarks among them at once, since a call for each would cost more than
the sort (`kernels.release`).

    push    rows and watermarks ─▶ split ─┬─▶ due by the last watermark ─┐
                                          ├─▶ held: sorted, a new run    ├─▶ sorted, cut, released
            runs so far ─▶ their heads ───┼──────────────────────────────┘
                                          └─▶ late

Paper: Chandramouli, Goldstein, Li: Impatience Is a Virtue (ICDE 2018), Section III.
Symbols: punctuation -> watermark; head run -> the part of a run that is due.
Departures: the paper places each event on a run as it comes. Here what is due already when rows
    are looked at never becomes part of a run; the rest of a step becomes one run, whatever its
    disorder, because sorting packed words costs less than placing rows one by one
    (`python -m benchmarks.sort --json`). Head runs are sorted together for the same reason.
    The paper's algorithm, with its two optimisations, is `kernels.impatience`.
Holds: between calls every held row is after the watermark. A watermark looks at the heads of runs
    only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from latecomer.errors import OptionError
from latecomer.kernels.deal import MANY, pack_sorted
from latecomer.kernels.nearly import insert
from latecomer.kernels.order import WORD_BITS, Words, index_bits
from latecomer.kernels.release import cuts, split
from latecomer.kernels.words import extent, pack, unpack
from latecomer.time import FOREVER, NEVER, Times

if TYPE_CHECKING:
    from collections.abc import Callable

    from latecomer.batch import Positions

_NONE = np.empty(0, np.int64)

STEP = 262_144
"""About so many rows are sorted together: more do not fit the processor's cache."""


class Released(NamedTuple):
    """What came out of a call."""

    times: Times
    """Ascending; rows of equal time in order of arrival."""
    positions: Positions
    """As how many-th each of them was pushed, from the very first call on."""
    cuts: Positions
    """How many of them were out by each watermark."""
    late: Positions
    """The positions of rows that came late."""


@dataclass(slots=True)
class _Run:
    """Times that ascend, of which the first `released` have come out."""

    times: Times
    positions: Positions
    released: int = 0

    def due(self, watermark: int) -> int:
        """Count what is due."""
        return int(np.searchsorted(self.times[self.released :], watermark, side="right"))

    def head(self, watermark: int) -> tuple[Times, Positions]:
        """Cut off what is due."""
        start = self.released
        self.released += self.due(watermark)
        return self.times[start : self.released], self.positions[start : self.released]


class Ordering:
    """Times in, positions out. Between calls, every time in a run is after the watermark."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self._waiting = _NONE
        """Rows after the last watermark: not looked at, since none of them can come out yet."""
        self._pushed = 0
        """Rows before these."""
        self._watermark = NEVER

    @property
    def held(self) -> int:
        """The number of rows held."""
        return len(self._waiting) + sum(len(run.times) - run.released for run in self._runs)

    @property
    def runs(self) -> int:
        """The number of runs held."""
        return len(self._runs)

    def push(self, times: Times, marks: Positions, watermarks: Times) -> Released:
        """Take rows, and watermarks among them; release what is due by the last of these.

        A row that is late, or at the watermark, comes out at the next watermark, not before.

        Args:
            times: In order of arrival. They are not copied: leave them as they are.
            marks: How many of these rows are before each watermark; ascending.
            watermarks: Ascending, and none before an earlier call's.

        Raises:
            OptionError: Marks are beyond the rows, or marks or watermarks do not ascend.
        """
        _check(len(times), marks, watermarks, self._watermark)
        out = _Output(self.held + len(times))
        marks = marks + len(self._waiting)
        # A copy of all rows costs a fifth of their sort, so none is made where one part is empty.
        parts = [part for part in (self._waiting, times) if len(part)]
        times = parts[0] if len(parts) == 1 else np.concatenate([_NONE, *parts])
        start = first = 0
        while first < len(marks):
            # A step ends at a watermark, and has about STEP rows if there are so many before it.
            last = max(int(np.searchsorted(marks, start + STEP, side="right")), first + 1)
            stop, cut = int(marks[last - 1]), slice(first, last)
            self._step(times[start:stop], marks[cut] - start, watermarks[cut], out)
            start, first = stop, last
        self._waiting = times[start:]
        return out.released()

    def finish(self) -> Released:
        """Release all that is held."""
        return self.push(_NONE, np.zeros(1, np.int64), np.array([FOREVER]))

    def _step(self, times: Times, marks: Positions, watermarks: Times, out: _Output) -> None:
        """Sort rows together that came before one watermark, or before several close ones."""
        after = int(watermarks[-1])
        began = out.rows
        due = sum(run.due(after) for run in self._runs)
        # Much that is due comes out in parts that fit the cache; the new rows become a run as well.
        in_parts = due > 2 * STEP
        reach = extent(times)
        values = self._too_far_apart(times, reach, watermarks)
        if values is not None:
            self._restate(lambda some: np.searchsorted(values, some))
            times, watermarks = (np.searchsorted(values, some) for some in (times, watermarks))
            reach = extent(times)
        last = int(watermarks[-1])
        self._take(times, reach, (marks, watermarks, self._watermark if in_parts else last), out)
        for stop in self._stops(last) if in_parts else ():
            heads = self._heads(stop)
            frame = _Frame.over(heads.low, len(heads.times))
            pack(heads.times, frame.low, frame.shift, 0, frame.words)
            frame.read(len(heads.times), heads.positions, 0, out.room(len(heads.times)))
        out.cut(began, self._pushed, marks, watermarks)
        if values is not None:
            self._restate(lambda some: values[some])
            out.restate(began, values)
        self._watermark = after
        self._pushed += len(times)

    def _too_far_apart(
        self, times: Times, reach: tuple[int, int], watermarks: Times
    ) -> Times | None:
        """List all times there are, if their range and the number of a row exceed a word.

        Their ranks in this list, which are in the same order, take their places for one step.
        """
        held = [run.times[run.released :] for run in self._runs]
        low, high = reach
        low = max(min([low, *(int(part[0]) for part in held)]), self._watermark)
        high = max([high, *(int(part[-1]) for part in held)])
        rows = len(times) + sum(map(len, held))
        if max(high - low, 0).bit_length() + index_bits(rows) <= WORD_BITS:
            return None
        return np.unique(np.concatenate([times, watermarks, [self._watermark], *held]))

    def _restate(self, change: Callable[[Times], Times]) -> None:
        self._watermark = int(change(np.array([self._watermark]))[0])
        for run in self._runs:
            run.times = change(run.times)

    def _take(
        self,
        times: Times,
        reach: tuple[int, int],
        clock: tuple[Positions, Times, int],
        out: _Output,
    ) -> None:
        """Release what is due up to the end of the clock; make the rest of the new rows a run."""
        marks, watermarks, last = clock
        heads = self._heads(last)
        low, high = reach
        due = _Frame.over(max(min(low, heads.low), self._watermark), len(heads.times) + len(times))
        pack(heads.times, due.low, due.shift, 0, due.words)
        if high <= last and low >= _latest(self._watermark, marks, watermarks, len(times)):
            rows = len(heads.times) + len(times)
            room = out.room(rows)
            if not len(heads.times) and insert(times, self._pushed, room):
                return
            if not len(heads.times) and rows > MANY:
                pack_sorted(times, due.low, high, due.shift, due.words)
                unpack(due.words[:rows], due.low, due.shift, _NONE, self._pushed, room)
                return
            pack(times, due.low, due.shift, len(heads.times), due.words[len(heads.times) :])
            due.read(rows, heads.positions, self._pushed, room)
            return
        held = _Frame.over(max(low, last), len(times))
        late = np.empty(len(times) + 1, np.int64)
        due_rows, held_rows, late_rows = split(
            times,
            (marks, watermarks, self._watermark, last),
            due.into(len(heads.times)),
            held.into(0),
            late,
        )
        due_rows += len(heads.times)
        due.read(due_rows, heads.positions, self._pushed, out.room(due_rows))
        out.late.append(late[:late_rows] + self._pushed)
        if held_rows:
            run = _Run(np.empty(held_rows, np.int64), np.empty(held_rows, np.int64))
            held.read(held_rows, _NONE, self._pushed, (run.times, run.positions))
            self._runs.append(run)

    def _heads(self, watermark: int) -> _Heads:
        heads = [run.head(watermark) for run in self._runs if run.due(watermark)]
        self._runs = [run for run in self._runs if run.released < len(run.times)]
        return _Heads.of(heads)

    def _stops(self, watermark: int) -> list[int]:
        """Choose watermarks on the way that release about STEP rows each."""
        every = max(1, STEP // (2 * len(self._runs)))
        samples = np.concatenate(
            [run.times[run.released :][: run.due(watermark) : every] for run in self._runs]
        )
        samples.sort()
        return [*samples[:: max(1, STEP // every)].tolist(), watermark]


def _check(rows: int, marks: Positions, watermarks: Times, before: int) -> None:
    """Refuse what compiled loops, which look at no bounds, would follow out of their arrays."""
    if len(marks) != len(watermarks):
        message = f"each mark needs a watermark; got {len(marks)} and {len(watermarks)}."
        raise OptionError(message)
    if not len(marks):
        return
    if marks[0] < 0 or marks[-1] > rows or np.any(marks[1:] < marks[:-1]):
        raise OptionError(f"marks must ascend from 0 to the number of rows, {rows:,}; got {marks}.")
    if watermarks[0] < before or np.any(watermarks[1:] < watermarks[:-1]):
        message = f"watermarks must ascend, from the last one, {before}, on; got {watermarks}."
        raise OptionError(message)


def _latest(before: int, marks: Positions, watermarks: Times, rows: int) -> int:
    """Find the last watermark that any of the rows came after."""
    seen = int(np.searchsorted(marks, rows))
    return int(watermarks[seen - 1]) if seen else before


class _Heads(NamedTuple):
    """What is due of the runs, run by run."""

    times: Times
    positions: Positions
    low: int

    @classmethod
    def of(cls, heads: list[tuple[Times, Positions]]) -> _Heads:
        """Put the heads of all runs together."""
        times = np.concatenate([_NONE, *(times for times, _ in heads)])
        positions = np.concatenate([_NONE, *(positions for _, positions in heads)])
        return cls(times, positions, extent(times)[0])


class _Frame(NamedTuple):
    """Room for packed rows, and how they are packed."""

    words: Words
    low: int
    shift: int

    @classmethod
    def over(cls, low: int, rows: int) -> _Frame:
        """Make room for rows of times from `low` on, and for one row too many."""
        return cls(np.empty(rows + 1, np.int64), low, index_bits(rows))

    def into(self, first: int) -> tuple[Words, int, int, int]:
        """Say where, and how, to pack rows from this number on."""
        return self.words[first:], self.low, self.shift, first

    def read(self, rows: int, named: Positions, first: int, out: tuple[Times, Positions]) -> None:
        """Sort the rows, and read them."""
        words = self.words[:rows]
        words.sort()
        unpack(words, self.low, self.shift, named, first, out)


class _Output:
    """What comes out of the steps of one call."""

    def __init__(self, rows: int) -> None:
        self._times = np.empty(rows, np.int64)
        self._positions = np.empty(rows, np.int64)
        self.rows = 0
        self._cuts: list[Positions] = [_NONE]
        self.late: list[Positions] = [_NONE]

    def room(self, rows: int) -> tuple[Times, Positions]:
        """Make room for the next rows."""
        part = slice(self.rows, self.rows + rows)
        self.rows += rows
        return self._times[part], self._positions[part]

    def cut(self, began: int, first: int, marks: Positions, watermarks: Times) -> None:
        """Note how many rows were out by each watermark of a step."""
        part = slice(began, self.rows)
        counts = cuts(self._times[part], self._positions[part], first, marks, watermarks)
        self._cuts.append(counts + began)

    def restate(self, began: int, values: Times) -> None:
        """Turn ranks of times back into times."""
        self._times[began : self.rows] = values[self._times[began : self.rows]]

    def released(self) -> Released:
        """Hand out all of it."""
        return Released(
            self._times[: self.rows],
            self._positions[: self.rows],
            np.concatenate(self._cuts),
            np.concatenate(self.late),
        )

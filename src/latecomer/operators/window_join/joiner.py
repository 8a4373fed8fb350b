"""Join streams within time windows, in the order in which their tuples come.

A tuple that is not behind any before it meets the tuples in the window of every other stream. Each
combination that passes the condition is a result, at the time of that tuple. A tuple that comes out
of order meets none, because results would no longer be in time order. But it is put into its
window, unless it is too old for it, and others can meet it there.

    S1, window 5      3           9
    S2, window 5          6   4       11      6 meets 3; 4 is behind 6, and only inserted;
                                              9 meets 6 and 4; 11 meets 9

Paper: Ji, Sun, Nica, Jerzak, Hackenbroich, Fetzer: Quality-Driven Disorder Handling for m-way
    Sliding Window Stream Joins (ICDE 2016), Algorithm 2.
Symbols: onT → `clock`, W_i → `windows`, n×(e) → `Probes.cross`, n⋈(e) → `Probes.joined`.
Departures: an out-of-order tuple is inserted if its time is at least clock − window, as the text
    says, not only after it, as line 9 does. The clock starts before every time, not at 0.
Holds: results come out in order of time, each once.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

import numpy as np

from latecomer.arrays import Arrays, nested, part
from latecomer.batch import Mask, Positions
from latecomer.errors import OptionError
from latecomer.kernels.queues import PLACE
from latecomer.kernels.window_probes import FOUND, Chains, Counts, Join, hang, probe
from latecomer.labels import Labelled
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.window_join.equalities import Equalities
from latecomer.operators.window_join.known_rows import KnownRows
from latecomer.operators.window_join.layout import Layout
from latecomer.operators.window_join.saving import Savable
from latecomer.operators.window_join.slots import Slots
from latecomer.operators.window_join.tuples import Tuples
from latecomer.time import NEVER, Times

if TYPE_CHECKING:
    from collections.abc import Sequence

AT_ONCE = 1 << 14
"""Number of combinations after which the condition is evaluated on them."""


@dataclass(frozen=True, slots=True)
class WindowJoin(Labelled):
    """A join of two streams or more."""

    windows: tuple[int, ...]
    """Length of each stream's window: how far its rows may be before a tuple, in microseconds."""
    on: Equalities
    where: Condition | None = None
    """Condition on the rows of a result, in addition to the equalities."""

    def __post_init__(self) -> None:
        if len(self.windows) < 2 or len(self.windows) != self.on.streams:  # noqa: PLR2004
            raise OptionError(
                f"a window join needs two streams or more, and a window for each; got "
                f"{len(self.windows)} windows for {self.on.streams} streams.\n"
                "Hint: name each stream, and how far its rows may be from the others."
            )
        if min(self.windows) < 0:
            message = f"a window cannot be negative; got {min(self.windows)} microseconds."
            raise OptionError(message + "\nHint: a window of 0 joins rows of equal time.")

    def start(self, answer: Literal["results", "counts"] = "results") -> WindowJoiner:
        """Return the running join.

        Args:
            answer: Whether to find the results, or only to count them, which is much faster.
        """
        return WindowJoiner(self, answer)


@dataclass(frozen=True, slots=True, eq=False)
class Probes:
    """The tuples that the join received, in order, and their results."""

    tuples: Tuples
    in_order: Mask
    since: Times
    """Begin of the window of each tuple's stream when it came. A tuple before it is too late even
    for others to meet it."""
    cross: Counts
    """Number of results that each tuple would give in the cross join; 0 if it is out of order."""
    joined: Counts
    """Number of results that each tuple gave."""
    times: Times
    """Times of the results found, ascending."""
    results: Positions
    """For each result, the numbers of its rows, stream by stream."""


def together(parts: Sequence[Probes]) -> Probes:
    """Return probes that follow each other as one."""
    if len(parts) == 1:
        return parts[0]
    tuples = Tuples.together([part.tuples for part in parts])
    names = [field.name for field in fields(Probes)][1:]
    columns = [[getattr(part, name) for part in parts] for name in names]
    return Probes(tuples, *map(np.concatenate, columns))


class WindowJoiner(Savable):
    """A running `WindowJoin`. Between calls, it holds the tuples in its windows."""

    def __init__(self, asked: WindowJoin, answer: Literal["results", "counts"]) -> None:
        self._asked = asked
        self._layout = Layout(
            asked.on, asked.windows, answer, has_condition=asked.where is not None
        )
        self._is_told = answer == "results"
        # A queue for each window.
        self._slots = Slots(len(asked.windows))
        self._clock = np.array([NEVER])
        # The rows that are linked in chains; None before the first tuples come.
        self._known: KnownRows | None = None
        self._join: Join
        self._chains: Chains

    @property
    def clock(self) -> int:
        """The newest time that the join has received."""
        return int(self._clock[0])

    @property
    def held(self) -> Tuples:
        """Tuples in the windows, in the order in which they came."""
        return self._slots.tuples(self._in_order())

    def push(self, tuples: Tuples, known: KnownRows) -> Probes:
        """Join tuples, in the order in which the Synchronizer releases them.

        Args:
            tuples: The tuples.
            known: Their rows, and those of tuples in the windows.
        """
        count = len(tuples)
        self._make_room(count)
        if known is not self._known:
            self._hang_anew(known)
        given = (tuples.streams, tuples.times, tuples.rows, tuples.delays, known.places(tuples))
        met = (np.empty(count, np.bool_), np.empty(count, np.int64), *np.empty((2, count)))
        where, p = self._asked.where, 0
        found, finders = [], []
        while p < count:
            p, places, owners = probe(
                given,
                (p, self._layout.how, AT_ONCE),
                self._join,
                self._slots.held,
                self._chains,
                (self._clock, *met),
            )
            if where is not None:
                holds = known.holds(where, places)
                owners = owners[holds]
                places = places[:, holds] if self._is_told else places[:, :0]
            found.append(places)
            finders.append(owners)
        in_order, since, cross, joined = met
        if self._layout.how != FOUND or not found:
            none = np.empty((0, len(self._asked.windows)), np.int64)
            return Probes(tuples, in_order, since, cross, joined, none[:, 0], none)
        owners = np.concatenate(finders)
        if where is not None:
            joined = np.bincount(owners, minlength=count).astype(np.float64)
        if not self._is_told:
            owners = owners[:0]
            found = [each[:, :0] for each in found]
        results = known.numbers[np.concatenate(found, axis=1).T]
        return Probes(tuples, in_order, since, cross, joined, tuples.times[owners], results)

    def save(self) -> Arrays:
        return {"clock": np.asarray(self.clock)} | nested("held", self.held.save())

    def load(self, arrays: Arrays) -> None:
        self._clock[:] = arrays["clock"]
        held = Tuples.saved(part("held", arrays))
        self._slots.fill(held, held.streams)

    def _hang_anew(self, known: KnownRows) -> None:
        """Link the rows in the windows into chains again, after keys were numbered again."""
        slots = self._in_order()
        self._slots.properties[slots, PLACE] = known.places(self._slots.tuples(slots))
        self._known = known
        self._join, chains = self._layout.of(known.codes)
        links = np.empty((3, self._layout.lines, self._slots.room), np.int64)
        ends = np.full((3, chains), -1)
        ends[2] = 0
        self._chains = (ends, links)
        hang(slots, self._join, self._slots.held, self._chains)

    def _in_order(self) -> Positions:
        return self._slots.in_order(*range(len(self._asked.windows)))

    def _make_room(self, count: int) -> None:
        before = self._slots.room
        self._slots.make_room(count)
        more = self._slots.room - before
        if more and self._known is not None:
            ends, links = self._chains
            room = np.empty((*links.shape[:-1], more), np.int64)
            self._chains = ends, np.concatenate([links, room], axis=-1)

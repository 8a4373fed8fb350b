"""Clock policies: which clock decides that a row is late, and how long it waits.

    OneClock        one clock for all rows; one wait, or several that ascend
    ClockPerKey     each key has a clock of its own, which only its own rows move
    ClockByRecall   one clock for all rows; the wait is chosen so that a share of rows is in time
    ClockBySource   one clock for all rows: that of the slowest source, or what sources promise

A policy is a specification, like an operator: frozen, part of the plan, sent to the workers.
`latecomer.hosts.clocks` runs it. All questions that depend on the kind of clock are answered here,
so that planners and hosts never test for the kind.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from latecomer.clock.watermark import Clock
from latecomer.errors import OptionError, listed
from latecomer.time import NEVER, format_duration, wait_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


FORGOTTEN = 10
"""A key without state is forgotten after a silence of this many times `idle`."""


@dataclass(frozen=True, slots=True)
class ClockPolicy:
    """The clock that decides which rows are late. The defaults are those of one shared clock."""

    is_shared: ClassVar[bool] = True
    """Whether all buckets have the same watermark, known without looking at any row.

    If so, rows can be aggregated before the shuffle, travel to a second stage, and meet the rows
    of another stream.
    """

    is_by_source: ClassVar[bool] = False
    """Whether the clock is computed from the sources of rows, or from their promises."""
    keeps_marks: ClassVar[bool] = False
    """Whether each bucket saves its watermarks."""
    is_marked: ClassVar[bool] = False
    """Whether a clock already has the watermark of this policy, so that no wait is subtracted."""

    waits: tuple[int, ...] = ()
    """Waits, ascending. The last one decides which rows are late."""
    idle: int | None = None
    """Length of a silence after which time goes on by itself; None for never."""
    columns: tuple[str, ...] = ()
    """Columns whose values each have a clock of their own; empty if there is one clock."""
    promise: str | None = None
    """Boolean column, true where a source promises that no row before this one will follow."""
    promised: str = ""
    """Text of the expression from which the promise is computed."""
    _: KW_ONLY
    sources: tuple[str, ...] = ()
    """Columns that identify the source of a row, if the slowest source sets the clock."""
    recalls: tuple[float, ...] = ()
    """Shares of rows that should be in time, ascending; empty if the waits are fixed."""
    within: int | None = None
    """Length of the periods that must each reach the recall; None for the long run alone."""
    horizon: int | None = None
    """Longest delay of a row that still corrects answers; longer than any wait."""
    texts: tuple[str, ...] = field(default=(), compare=False)
    """The waits as the user wrote them."""
    floor: int = field(default=NEVER, compare=False)
    """Watermark at which the query went on with another wait; it never falls below this."""
    former: tuple[int, ...] = field(default=(), compare=False)
    """Earlier waits with which state in the checkpoint may have been written."""

    @property
    def wait_texts(self) -> tuple[str, ...]:
        """The text of each wait, which marks the rows of each when there are several."""
        return wait_texts(self.waits, self.texts)

    @property
    def levels(self) -> tuple[int, ...]:
        """The waits, followed by the horizon if there is one."""
        return self.waits if self.horizon is None else (*self.waits, self.horizon)

    @property
    def wait(self) -> int:
        """Longest delay of a row that is not late."""
        return self.levels[-1] if self.levels else 0

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns that the clock reads, so that they must stay in the rows."""
        return self.sources if self.promise is None else (*self.sources, self.promise)

    @property
    def answers(self) -> int:
        """Number of answers: one for each wait, or one for each recall."""
        return max(len(self.waits), len(self.recalls))

    def read(self, newest: int, elapsed: int = 0) -> Clock:
        """Return the clock of this stream when `newest` has been seen."""
        return Clock.at(newest, self.wait, elapsed, self.floor)

    def of(self, clock: Clock) -> Clock:
        """Return a clock, possibly that of another stream, with the wait of this one."""
        return clock if self.is_marked else clock.with_wait(self.wait, self.floor)

    def after(self, waits: Sequence[int], floor: int) -> Self:
        """Return this policy for a query that ran with other waits before.

        Args:
            waits: Its former waits.
            floor: The watermark it had reached.
        """
        return replace(self, former=tuple(waits), floor=floor)

    def check_group(self, key: Sequence[str]) -> None:
        """Refuse a grouping that mixes rows with different clocks."""

    def check_travel(self, key: Sequence[str]) -> None:
        """Refuse to send rows to a second stage, if the clock does not allow it."""

    def check_meeting(self, other: ClockPolicy, names: Mapping[str, str]) -> None:
        """Refuse a join or union with another stream, unless both have a common time.

        Args:
            other: The clock policy of the other stream.
            names: The columns in which rows must be equal, with their names in the other stream.
        """
        if tuple(names.get(name, name) for name in self.columns) != other.columns:
            ours, theirs = (f"clock={list(each.columns)}" for each in (self, other))
            raise OptionError(
                f"one stream has {ours} and the other {theirs}; streams with different clocks "
                "cannot be combined.\n"
                "Hint: give both the same clock= in disordered, and name its columns in on=; or "
                "leave it out in both."
            )

    @property
    def identity(self) -> dict[str, Any]:
        """Settings that must not change during the life of a checkpoint."""
        wait = self.waits[0] if len(self.waits) == 1 else list(self.waits)
        return {"clock": "one clock", "wait": wait}

    def __str__(self) -> str:
        """Return how long the stream waits, in words."""
        horizon = "" if self.horizon is None else f", horizon {format_duration(self.horizon)}"
        return f"wait {', '.join(map(format_duration, self.waits))}{horizon}"


class OneClock(ClockPolicy):
    """One clock for all rows: the largest time of all earlier micro-batches."""

    __slots__ = ()


class ClockPerKey(ClockPolicy):
    """A clock for each value of some columns, moved by the rows of that value alone.

    With `idle`, the clock of a value advances by itself when no newer row of that value arrives.
    """

    __slots__ = ()

    is_shared = False
    """Each key has a watermark of its own."""
    keeps_marks = True

    def check_group(self, key: Sequence[str]) -> None:
        """Refuse a key that does not contain the columns of the clock."""
        if not set(self.columns) <= set(key):
            clock = listed(self.columns)
            raise OptionError(
                f"rows cannot be grouped by {listed(key) or 'nothing'}, because each {clock} has "
                "a clock of its own.\n"
                f"Hint: group by {clock} as well, or leave out clock= in disordered."
            )

    def check_meeting(self, other: ClockPolicy, names: Mapping[str, str]) -> None:
        """Refuse promises, which hold for one stream only, and clocks for different columns."""
        if self.promise is not None:
            raise OptionError(
                "a stream with promise= cannot be combined with another stream.\n"
                "Hint: leave out promise=."
            )
        super().check_meeting(other, names)

    @property
    def identity(self) -> dict[str, Any]:
        own = {"promise": self.promised} if self.promised else {}
        columns = ", ".join(self.columns)
        return super().identity | {"clock": f"a clock for each {columns}", "idle": self.idle} | own

    def __str__(self) -> str:
        each = f"with a clock for each {', '.join(self.columns)}{_promises(self.promised)}"
        return f"{super().__str__()}, {each}"


class ClockByRecall(ClockPolicy):
    """One clock for all rows, and waits that each bucket chooses so that enough rows are in time.

    Each recall has a wait and a watermark of its own; the last decides which rows are late.
    """

    __slots__ = ()

    is_shared = False
    """Each bucket chooses its waits by its own rows."""
    is_marked = True

    def check_travel(self, key: Sequence[str]) -> None:
        """Refuse, because the buckets that rows come from do not wait equally long."""
        raise OptionError(
            f"grouping by {listed(key) or 'nothing'} needs another shuffle, which a stream with a "
            "recall does not support: its buckets wait for different times.\n"
            "Hint: name this key in disordered(df, key=...), or sort with a wait instead."
        )

    def check_meeting(self, other: ClockPolicy, names: Mapping[str, str]) -> None:
        """Refuse, because there is no common watermark."""
        raise OptionError(
            "a stream with a recall cannot be combined with another stream, because each of its "
            "buckets has a watermark of its own.\n"
            'Hint: sort(wait="10 minutes") both; lc.profile shows which wait gives which recall.'
        )

    @property
    def identity(self) -> dict[str, Any]:
        asked = {"recall": list(self.recalls), "within": self.within}
        return {"clock": "waits that follow from a recall", **asked}

    def __str__(self) -> str:
        recalls = ", ".join(map(str, self.recalls))
        each = "" if self.within is None else f" in each {format_duration(self.within)}"
        return f"recall {recalls}{each}, by which each bucket chooses its wait"


class ClockBySource(ClockPolicy):
    """One clock for all rows: that of the slowest source, also moved by what sources promise.

    `latecomer.clock.source_clocks` explains how.
    """

    __slots__ = ()

    is_by_source = True
    keeps_marks = True
    is_marked = True

    def check_travel(self, key: Sequence[str]) -> None:
        """Refuse, because the sources of rows are known only where rows are read."""
        raise OptionError(
            f"grouping by {listed(key) or 'nothing'} needs another shuffle, which a stream with "
            "sources= or promise= does not support: its clock is known only where rows are "
            "read.\n"
            "Hint: name this key in disordered(df, key=...), or leave out sources= and promise=."
        )

    def check_meeting(self, other: ClockPolicy, names: Mapping[str, str]) -> None:
        """Refuse, because the clock of another stream is not known here."""
        raise OptionError(
            "a stream with sources= or promise= cannot be combined with another stream.\n"
            "Hint: leave them out, or write the stream to a table first and read that."
        )

    @property
    def identity(self) -> dict[str, Any]:
        return super().identity | {"clock": self._named, "promise": self.promised}

    @property
    def _named(self) -> str:
        slowest = f"the clock of the slowest {', '.join(self.sources)}"
        return slowest if self.sources else "one clock with promises"

    def __str__(self) -> str:
        return f"{super().__str__()}, by {self._named}{_promises(self.promised)}"


def _promises(text: str) -> str:
    return f", with promises where {text}" if text else ""

"""Clock policies: by which clock the rows of a stream are late, and how long it waits.

    OneClock        one clock for all rows; one wait, or several that ascend
    ClockPerKey     each key has a clock of its own, which only its own rows move
    ClockByRecall   one clock for all rows; the wait follows from the share of rows to be in time
    ClockBySource   one clock for all rows: that of the slowest source, or what sources promise

A policy is a specification, like an operator: frozen, part of the plan, sent to the workers. What
it does in a micro-batch is in `latecomer.hosts.clocks`. Everything that depends on the kind of
clock is answered here, so that a planner or a host never asks which kind it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from latecomer.clock.watermark import Clock
from latecomer.errors import OptionError
from latecomer.time import NEVER, format_duration, wait_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


FORGOTTEN = 10
"""A key of which nothing is held is forgotten after a silence so many times as long as `idle`."""


@dataclass(frozen=True, slots=True)
class ClockPolicy:
    """By which clock rows are late. What it does not override is as for one clock for all."""

    is_shared: ClassVar[bool] = True
    """Whether all buckets have the same watermark, known without looking at any row.

    Then rows may be aggregated before the shuffle, travel to a second stage, and meet the rows of
    another stream.
    """

    is_by_source: ClassVar[bool] = False
    """Whether the clock follows from what rows say of their sources."""
    keeps_marks: ClassVar[bool] = False
    """Whether each bucket writes down how far its watermarks have come."""

    waits: tuple[int, ...] = ()
    """Ascending. The last one decides what is late."""
    idle: int | None = None
    """After how long a silence time goes on by itself."""
    horizon: int | None = field(default=None, kw_only=True)
    """Up to how far behind the newest row late rows still correct answers; longer than any wait."""
    texts: tuple[str, ...] = field(default=(), compare=False, kw_only=True)
    """The waits as the user wrote them."""
    floor: int = field(default=NEVER, compare=False, kw_only=True)
    """How far the watermark had come when the query went on with another wait; it never falls."""
    former: tuple[int, ...] = field(default=(), compare=False, kw_only=True)
    """The waits with which state in the checkpoint may have been written, besides this one."""

    @property
    def wait_texts(self) -> tuple[str, ...]:
        """The text of each wait, by which rows of several waits are told apart."""
        return wait_texts(self.waits, self.texts)

    @property
    def levels(self) -> tuple[int, ...]:
        """The waits, and the horizon where there is one."""
        return self.waits if self.horizon is None else (*self.waits, self.horizon)

    @property
    def wait(self) -> int:
        """How far behind the newest row another one is late."""
        return self.levels[-1] if self.levels else 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns whose every value has a clock of its own; none if there is one clock."""
        return ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Columns that say from which source a row is, where the slowest source sets the clock."""
        return ()

    @property
    def promise(self) -> str | None:
        """A column that says whether nothing before a row will follow from its source."""
        return None

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns that must stay in the rows for their clock."""
        return self.sources if self.promise is None else (*self.sources, self.promise)

    @property
    def recalls(self) -> tuple[float, ...]:
        """The shares of rows to be in time, ascending; none if the waits are fixed."""
        return ()

    @property
    def within(self) -> int | None:
        """How long a period is that is to have its recall by itself; None: the long run counts."""
        return None

    @property
    def answers(self) -> int:
        """How many answers there are: one for each wait, or for each recall."""
        return max(len(self.waits), len(self.recalls))

    def read(self, newest: int, elapsed: int = 0) -> Clock:
        """Read the clock of this stream when `newest` has been seen."""
        return Clock.at(newest, self.wait, elapsed, self.floor)

    def of(self, clock: Clock) -> Clock:
        """Read a clock that may be set for another stream, with another wait."""
        return clock.with_wait(self.wait, self.floor)

    def after(self, waits: Sequence[int], floor: int) -> Self:
        """Return this policy for a query that has run with other waits before.

        Args:
            waits: Those waits.
            floor: How far its watermark had come.
        """
        return replace(self, former=tuple(waits), floor=floor)

    def check_group(self, key: Sequence[str]) -> None:
        """Refuse a grouping that mixes rows with different clocks."""

    def check_travel(self, key: Sequence[str]) -> None:
        """Refuse to send rows to a second stage."""

    def check_meeting(self, other: ClockPolicy, names: Mapping[str, str]) -> None:
        """Refuse to let rows of another stream meet these, unless they have a common time.

        Args:
            other: The clocks of the other stream.
            names: What it calls the columns in which rows must be equal.

        Raises:
            OptionError: They have none.
        """
        if tuple(names.get(name, name) for name in self.columns) != other.columns:
            ours, theirs = (f"clock={list(each.columns)}" for each in (self, other))
            raise OptionError(
                f"one stream has {ours} and the other {theirs}, so that rows have no common time "
                "in which to meet.\n"
                "Hint: give both the same clock= in disordered, and name its columns in on=; or "
                "leave it out in both."
            )

    @property
    def identity(self) -> dict[str, Any]:
        """What must not change during the life of a checkpoint."""
        wait = self.waits[0] if len(self.waits) == 1 else list(self.waits)
        return {"clock": "one clock", "wait": wait}

    def __str__(self) -> str:
        """Return how long the stream waits, in words."""
        horizon = "" if self.horizon is None else f", horizon {format_duration(self.horizon)}"
        return f"wait {', '.join(map(format_duration, self.waits))}{horizon}"


class OneClock(ClockPolicy):
    """One clock for all rows: the largest time of all micro-batches before."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ClockPerKey(ClockPolicy):
    """A clock for each value of some columns, moved by the rows of that value alone.

    With `idle`, the clock of a value goes on by itself when nothing newer of it comes.
    """

    is_shared = False
    """Each key has a watermark of its own."""
    keeps_marks = True

    columns: tuple[str, ...] = ()
    promise: str | None = None
    """A column that says whether nothing before a row will follow from its key."""
    promised: str = ""
    """What the promise is computed from, as text."""

    def check_group(self, key: Sequence[str]) -> None:
        """Refuse a key that does not contain the columns of the clock.

        Raises:
            OptionError: It does not.
        """
        if not set(self.columns) <= set(key):
            clock = _quoted(self.columns)
            raise OptionError(
                f"each {clock} has a clock of its own, and rows grouped by "
                f"{_quoted(key) or 'nothing'} have no common time.\n"
                f"Hint: group by {clock} as well, or leave out clock= in disordered."
            )

    @property
    def identity(self) -> dict[str, Any]:
        """What must not change during the life of a checkpoint."""
        shared = ClockPolicy.identity.fget(self)  # type: ignore[attr-defined]
        columns = ", ".join(self.columns)
        own = {"promise": self.promised} if self.promised else {}
        return shared | {"clock": f"a clock for each {columns}", "idle": self.idle} | own

    def check_meeting(self, other: ClockPolicy, names: Mapping[str, str]) -> None:
        """Refuse promises, which are known of one stream alone; the rest is as for any clock.

        Raises:
            OptionError: There are promises, or the clocks are of other columns.
        """
        if self.promise is not None:
            raise OptionError(
                "a stream with promises cannot meet another stream.\nHint: leave out promise=."
            )
        ClockPolicy.check_meeting(self, other, names)

    def __str__(self) -> str:
        each = f"with a clock for each {', '.join(self.columns)}{_promises(self.promised)}"
        return f"{ClockPolicy.__str__(self)}, {each}"


@dataclass(frozen=True, slots=True)
class ClockByRecall(ClockPolicy):
    """One clock for all rows, and waits that each bucket chooses so that enough rows are in time.

    Each recall has a wait and a watermark of its own; the last decides what is late.
    """

    is_shared = False
    """Each bucket chooses its waits by its own rows."""

    recalls: tuple[float, ...] = ()
    within: int | None = None
    """How long a period is that is to have the recall by itself; None: only the long run counts."""

    def of(self, clock: Clock) -> Clock:
        """Return the clock as it is: its watermark follows from the wait that the bucket chose."""
        return clock

    def check_travel(self, key: Sequence[str]) -> None:
        """Refuse: rows come from buckets that do not wait equally long.

        Raises:
            OptionError: Always.
        """
        raise OptionError(
            f"rows would have to travel once more, to be grouped by {_quoted(key) or 'nothing'}, "
            "and with a recall the buckets that they come from do not wait equally long.\n"
            "Hint: name this key in disordered(df, key=...), or sort with a wait instead."
        )

    def check_meeting(self, other: ClockPolicy, names: Mapping[str, str]) -> None:
        """Refuse: there is no common watermark.

        Raises:
            OptionError: Always.
        """
        raise OptionError(
            "a stream whose wait follows from its recall has a watermark of its own in each "
            "bucket, and no common time in which to meet another.\n"
            'Hint: sort(wait="10 minutes") both; lc.profile shows which wait gives which recall.'
        )

    @property
    def identity(self) -> dict[str, Any]:
        """What must not change during the life of a checkpoint."""
        asked = {"recall": list(self.recalls), "within": self.within}
        return {"clock": "waits that follow from a recall", **asked}

    def __str__(self) -> str:
        recalls = ", ".join(map(str, self.recalls))
        each = "" if self.within is None else f" in each {format_duration(self.within)}"
        return f"recall {recalls}{each}, by which each bucket chooses its wait"


@dataclass(frozen=True, slots=True)
class ClockBySource(ClockPolicy):
    """One clock for all rows: that of the slowest source, moved also by what sources promise.

    How: `latecomer.clock.source_clocks`.
    """

    is_by_source = True
    keeps_marks = True

    sources: tuple[str, ...] = ()
    promise: str | None = None
    promised: str = ""
    """What the promise is computed from, as text."""

    def of(self, clock: Clock) -> Clock:
        """Return the clock as it is: its watermark follows from what is known of all sources."""
        return clock

    def check_travel(self, key: Sequence[str]) -> None:
        """Refuse: only where rows are read is it known which sources they are of.

        Raises:
            OptionError: Always.
        """
        raise OptionError(
            f"rows would have to travel once more, to be grouped by {_quoted(key) or 'nothing'}, "
            "and a clock by sources or promises is known where rows are read.\n"
            "Hint: name this key in disordered(df, key=...), or leave out sources= and promise=."
        )

    def check_meeting(self, other: ClockPolicy, names: Mapping[str, str]) -> None:
        """Refuse: the clock of another stream is not known here.

        Raises:
            OptionError: Always.
        """
        raise OptionError(
            "a stream with a clock by sources or promises cannot meet another stream.\n"
            "Hint: leave out sources= and promise=, or write it to a table first and read that."
        )

    @property
    def identity(self) -> dict[str, Any]:
        """What must not change during the life of a checkpoint."""
        shared = ClockPolicy.identity.fget(self)  # type: ignore[attr-defined]
        return shared | {"clock": self._named, "promise": self.promised}

    @property
    def _named(self) -> str:
        slowest = f"the clock of the slowest {', '.join(self.sources)}"
        return slowest if self.sources else "one clock with promises"

    def __str__(self) -> str:
        return f"{ClockPolicy.__str__(self)}, by {self._named}{_promises(self.promised)}"


def _promises(text: str) -> str:
    return f", with promises where {text}" if text else ""


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)

"""The three ways to cut a replay into micro-batches.

A rhythm decides where a micro-batch ends:

    ByRows   after a number of rows
    BySpan   where the next cell of a grid over arrivals begins; cells without rows are skipped
    ByClock  at the last row that has arrived, on a clock that runs `speed` times as fast as ours

The first two depend on the position alone: the same position gives the same batch. So a replay
that was stopped and resumed makes the batches that it would have made without the stop.

**The clock does not wait for the query.** It starts at the arrival of the first position that it is
asked about. A query that is slower than the clock gets more rows each time, as in real life:

    arrival reached    0        60       120      180          speed 60, one row a minute
    asked              ^ 1 row                    ^ 3 rows     the batch in between took 3 seconds

A resumed replay starts a new clock at the arrival that it had reached. So no row is skipped, and
the downtime does not count.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from latecomer.errors import DurationError, OptionError
from latecomer.time import FOREVER, SECOND, Duration, parse_duration

if TYPE_CHECKING:
    from latecomer.generate.replay.arrivals import Arrivals, Position


class Rhythm(Protocol):
    """A way to cut a replay into micro-batches."""

    def step(self, arrivals: Arrivals, start: Position) -> Position:
        """Return the end of the micro-batch that begins at `start`: `start` if no row is due."""

    def due(self, arrivals: Arrivals, start: Position) -> Position:
        """Return the position that the replay would have by now if no reader were slow."""

    def wait(self, arrivals: Arrivals, start: Position) -> float | None:
        """Return the seconds until the next row is due, negative if overdue; None without a row."""


class _Steps:
    """The common part of rhythms without a clock: all rows are due at once."""

    def due(self, arrivals: Arrivals, start: Position) -> Position:
        return arrivals.end()

    def wait(self, arrivals: Arrivals, start: Position) -> float | None:
        return 0 if start.rows < arrivals.end().rows else None


@dataclass(frozen=True)
class ByRows(_Steps):
    """A fixed number of rows per batch; the last batch has the rest."""

    rows: int

    def step(self, arrivals: Arrivals, start: Position) -> Position:
        return arrivals.ahead(start, rows=self.rows)


@dataclass(frozen=True)
class BySpan(_Steps):
    """A fixed span of arrivals per batch, `[first + n * span, first + (n + 1) * span)`."""

    span: int
    """Length of the span, in microseconds."""

    def step(self, arrivals: Arrivals, start: Position) -> Position:
        head = arrivals.next_arrival(start)
        if head is None:
            return start
        first = head if start.first is None else start.first
        cell = (head - first) // self.span
        return arrivals.ahead(start, before=min(first + (cell + 1) * self.span, FOREVER))


@dataclass
class ByClock:
    """All rows that have arrived by now, on a clock that starts at the first call."""

    speed: float
    """Seconds of arrival per second of wall clock."""
    max_rows: int = FOREVER
    """Most rows in a batch; the rest stays due."""
    now: Callable[[], float] = field(default=time.monotonic, repr=False)
    """The wall clock, in seconds since any fixed moment."""
    _start: tuple[float, int] | None = field(default=None, init=False, repr=False)

    def step(self, arrivals: Arrivals, start: Position) -> Position:
        reached = self.reached(arrivals, start)
        if reached is None:
            return start
        return arrivals.ahead(start, rows=self.max_rows, before=reached + 1)

    def due(self, arrivals: Arrivals, start: Position) -> Position:
        reached = self.reached(arrivals, start)
        return start if reached is None else arrivals.ahead(start, before=reached + 1)

    def wait(self, arrivals: Arrivals, start: Position) -> float | None:
        head = arrivals.next_arrival(start)
        if head is None:
            return None
        reached = self.reached(arrivals, start)
        assert reached is not None  # noqa: S101  there is a row for the clock to start at
        return (head - reached) / SECOND / self.speed

    def reached(self, arrivals: Arrivals, start: Position) -> int | None:
        """Return the arrival that the clock shows; None while there is no row to start at."""
        if self._start is None:
            at = arrivals.next_arrival(start) if start.arrival is None else start.arrival
            if at is None:
                return None
            self._start = self.now(), at
        began, at = self._start
        passed = min((self.now() - began) * self.speed * SECOND, 2.0**62)
        return min(at + math.floor(passed), FOREVER - 1)


def choose(
    *,
    speed: object = None,
    rows: object = None,
    span: Duration | None = None,
    max_rows: object = None,
    names: tuple[str, str, str, str] = ("speed", "rows", "span", "max_rows"),
) -> Rhythm:
    """Return the one rhythm that was requested; errors use the user's names of the options."""
    given = [
        name for name, value in zip(names, (speed, rows, span), strict=False) if value is not None
    ]
    if len(given) != 1:
        raise OptionError(
            f"a replay needs one of {', '.join(names[:3])}; got {' and '.join(given) or 'none'}.\n"
            f"Hint: {names[0]} 60 plays an hour in a minute; {names[1]} 10000 or {names[2]} "
            f'"10 minutes" cut it into the same micro-batches every time.'
        )
    if max_rows is not None and speed is None:
        message = f"{names[3]} needs {names[0]}; got it with {given[0]}.\nHint: leave it out."
        raise OptionError(message)
    if rows is not None:
        return ByRows(_whole(rows, names[1]))
    if span is not None:
        micros = parse_duration(span, names[2])
        if micros == 0:
            raise DurationError(f"{names[2]} must be longer than 0 seconds; got {span!r}.")
        return BySpan(micros)
    return ByClock(
        _positive(speed, names[0]), FOREVER if max_rows is None else _whole(max_rows, names[3])
    )


def _whole(value: object, name: str) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if number < 1:
        raise OptionError(f"{name} must be a whole number, 1 or more; got {value!r}.")
    return number


def _positive(value: object, name: str) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise OptionError(
            f"{name} must be a number greater than 0; got {value!r}.\n"
            "Hint: 1 plays as fast as it happened, 60 plays an hour in a minute."
        )
    return number

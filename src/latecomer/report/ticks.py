"""The marks of an axis: their values and texts.

Counts go in steps of 1, 2 and 5, durations in common units such as minutes and hours, and times by
the calendar.
"""

from __future__ import annotations

from datetime import MAXYEAR, UTC, datetime, timedelta
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from latecomer.time import DAY, HOUR, MINUTE, SECOND, format_duration

if TYPE_CHECKING:
    from latecomer.report.svg import Ticks

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = -62_135_596_800 * SECOND, 253_402_300_799 * SECOND
"""The range of a datetime, in microseconds: the years 1 to 9999."""
_MANY = 6


def count_ticks(high: float) -> Ticks:
    """Return marks for counts from 0 up."""
    return [(at, f"{at:,.0f}") for at in _marks(high, smallest=1.0)]


def share_ticks(high: float) -> Ticks:
    """Return marks for shares from 0 up, in percent."""
    return [(at, f"{100 * at:.3g} %") for at in _marks(high)]


def second_ticks(high: float) -> Ticks:
    """Return marks for seconds from 0 up, in the largest unit that fits at least twice."""
    seconds, name = next(((unit, name) for unit, name in _UNITS if high >= 2 * unit), (1.0, "s"))
    return [(at * seconds, f"{at:,.3g} {name}") for at in _marks(high / seconds)]


_UNITS = [(86_400.0, "days"), (3_600.0, "h"), (60.0, "min")]


def high_share_ticks(low: float) -> Ticks:
    """Return marks for shares from `low` up to 100 %, in percent."""
    marks = [1 - at for at in _marks(1 - low)]
    return [(mark, f"{100 * mark:.5g} %") for mark in reversed(marks)]


def _marks(high: float, smallest: float = 0.0) -> list[float]:
    step = _step(high / _MANY, smallest)
    return [at * step for at in range(int(high / step + 1e-9) + 1)]


def _step(least: float, smallest: float = 1.0) -> float:
    least = max(least, smallest, 1e-9)
    power = 10 ** floor(log10(least))
    return next(n * power for n in (1, 2, 5, 10) if n * power >= least * 0.999)


_DURATIONS = [
    *(10**n for n in range(6)),
    *(n * SECOND for n in (1, 10, 60, 600, 3_600)),
    *(10**n * DAY for n in range(9)),
]
_FINER = [
    *(n * 10**power for power in range(6) for n in (1, 2, 5)),
    *(n * SECOND for n in (1, 2, 5, 10, 20, 30)),
    *(n * MINUTE for n in (1, 2, 5, 10, 20, 30)),
    *(n * HOUR for n in (1, 2, 3, 6, 12)),
    *(n * 10**power * DAY for power in range(9) for n in (1, 2, 5)),
]
_SHORT = {"microsecond": "µs", "millisecond": "ms", "second": "s", "minute": "min", "hour": "h"}


def duration_ticks(low: float, high: float) -> Ticks:
    """Return marks for durations, in microseconds, on a logarithmic scale."""
    marks = [at for at in _DURATIONS if low <= at <= high]
    if len(marks) < _MANY:
        marks = [at for at in _FINER if low <= at <= high]
    return [(at, short_duration(at)) for at in marks]


def short_duration(micros: int) -> str:
    """Return a short text of a duration, for example "10 min"."""
    amount, unit = format_duration(micros).split(" ")
    return f"{amount} {_SHORT.get(unit.removesuffix('s'), unit)}"


def time_ticks(low: int, high: int, *, is_calendar: bool) -> Ticks:
    """Return marks for times, in microseconds since 1970: by the calendar, or elapsed since 0."""
    if not is_calendar or low < _FIRST or high > _LAST:
        return _elapsed_ticks(low, high)
    years = (high - low) / DAY / 365
    if years >= _MANY / 2:
        return _year_ticks(low, high, max(1, ceil(_step(years / _MANY))))
    if (high - low) / DAY > 60:  # noqa: PLR2004  days: months begin to be too few below
        return _month_ticks(low, high)
    step = next((s for s in _CLOCK_STEPS if (high - low) / s <= _MANY), _CLOCK_STEPS[-1])
    form = next(form for least, form in _CLOCK_FORMS if step >= least)
    return [(at, calendar(at).strftime(form)) for at in _multiples(step, low, high)]


_CLOCK_FORMS = [
    (DAY, "%Y-%m-%d"),
    (MINUTE, "%m-%d %H:%M"),
    (SECOND, "%H:%M:%S"),
    # There is no room for more; the table shows the minute.
    (1, "%S.%f s"),
]
_CLOCK_STEPS = [
    *(n * 10**power for power in range(6) for n in (1, 2, 5)),
    *(n * SECOND for n in (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800)),
    *(n * HOUR for n in (1, 2, 3, 6, 12)),
    *(n * DAY for n in (1, 2, 5, 10)),
]


def calendar(micros: int) -> datetime:
    """Return the time of microseconds since 1970; OverflowError if it is beyond the calendar."""
    return _EPOCH + timedelta(microseconds=micros)


def clock(micros: int) -> str:
    """Return the text of a time of day in UTC."""
    return f"{calendar(micros):%H:%M:%S}"


def micros_of(at: datetime) -> int:
    """Return a time in microseconds since 1970."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def _year_ticks(low: int, high: int, step: int) -> Ticks:
    first = -(-calendar(low).year // step) * step
    years = range(max(first, 1), calendar(high).year + 1, step)
    marks = [(micros_of(datetime(year, 1, 1, tzinfo=UTC)), f"{year:04}") for year in years]
    return [(at, text) for at, text in marks if low <= at <= high]


def _month_ticks(low: int, high: int) -> Ticks:
    start = calendar(low)
    months = [start.year * 12 + start.month - 1 + i for i in range(40)]
    marks = [
        (micros_of(datetime(m // 12, m % 12 + 1, 1, tzinfo=UTC)), m)
        for m in months
        if m // 12 <= MAXYEAR
    ]
    inside: Ticks = [(at, f"{m // 12:04}-{m % 12 + 1:02}") for at, m in marks if low <= at <= high]
    return inside[:: ceil(len(inside) / _MANY)]


def _elapsed_ticks(low: int, high: int) -> Ticks:
    units = (DAY, HOUR, MINUTE, SECOND, 1_000, 1)
    unit = next((unit for unit in units if high - low >= 2 * unit), 1)
    step = int(_step((high - low) / unit / _MANY)) * unit
    names = {DAY: "days", HOUR: "h", MINUTE: "min", SECOND: "s", 1_000: "ms", 1: "µs"}
    return [(at, f"{at // unit:,} {names[unit]}") for at in _multiples(step, low, high)]


def _multiples(step: int, low: int, high: int) -> range:
    # Floor division, because floats are too coarse for large times.
    return range(-(-low // step) * step, high + 1, step)

"""Distributions of the delays of rows, drawn from numbers between 0 and 1.

A distribution is used through its quantiles: it turns one uniform number per row into a delay in
whole microseconds. There is no generator with a state, so a row's delay depends on the row alone,
and rows can be drawn in any order, on any machine.

Every distribution can be cut to a minimum and a maximum. Delays outside are not moved to the edge,
where they would pile up. The distribution is cut off there, and the rest keeps its shape.

As text, parts are separated by colons; parts in brackets can be left out:

    constant:30s                                    always the same
    uniform:1s:60s                                  MIN:MAX
    exponential:MEAN[:MIN[:MAX]]                    exponential:5s
    normal:MEAN:DEVIATION[:MIN[:MAX]]               normal:30s:10s
    lognormal:MEDIAN:SIGMA[:MIN[:MAX]]              lognormal:5s:1.5
    zipf:SKEW:STEP:MAX[:MIN]                        STEP, 2 STEP, … with weights 1, 2^-SKEW, …
    empirical:FILE:TIME[:ARRIVAL[:MIN[:MAX]]]       the delays of the rows out of order in a file
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from latecomer.errors import OptionError
from latecomer.generate.injection.distributions import (
    LAST_BELOW_1,
    Exponential,
    Floats,
    Listed,
    Lognormal,
    Normal,
    Shape,
    Uniform,
)
from latecomer.profile.measures import delays as delays_of
from latecomer.time import TimeColumn, Times, Unit, check_unit, format_duration, parse_duration

LONGEST = 2**62
"""Longest delay: half the range of times, so that any present-day time plus a delay is a time."""

_LEAST_SHARE = 1e-9


@dataclass(frozen=True, slots=True)
class Delay:
    """A distribution of delays, cut to those from `minimum` to `maximum`, both included.

    It is made from text, `Delay.parse("uniform:1s:60s")`. `latecomer.generate.injection.delays`
    lists the forms.
    """

    text: str
    """The text that the user gave."""
    shape: Shape = field(compare=False, repr=False)
    minimum: int = 0
    maximum: int = LONGEST

    def __post_init__(self) -> None:
        least, most = format_duration(self.minimum), format_duration(self.maximum)
        if self.minimum > self.maximum:
            raise OptionError(
                f"the shortest delay, {least}, is longer than the longest, {most}, in "
                f"{self.text!r}.\nHint: the minimum comes before the maximum."
            )
        if not self._kept() >= _LEAST_SHARE:
            raise OptionError(
                f"{self.text!r} leaves no delays: the distribution has hardly any from {least} to "
                f"{most}.\n"
                "Hint: choose a minimum and a maximum that the distribution reaches."
            )

    @classmethod
    def parse(cls, text: str) -> Delay:
        """Return the distribution that a text describes, for example "uniform:1s:60s".

        Raises:
            OptionError: There is no such distribution, or the minimum is above the maximum.
            DurationError: A part of the text is not a duration.
        """
        name, *parts = text.split(":")
        if name not in _FORMS:
            raise OptionError(
                f"unknown distribution {name!r} in delay {text!r}.\n"
                f"Hint: use one of {', '.join(form for form, _ in _FORMS.values())}."
            )
        form, read = _FORMS[name]
        if not form.split("[")[0].count(":") <= len(parts) <= form.count(":"):
            raise OptionError(f"delay {text!r} has {len(parts)} parts.\nHint: write {form}.")
        return read(text, parts)

    @classmethod
    def of(cls, delay: str | Delay) -> Delay:
        """Return a distribution unchanged, or parse it from text."""
        if not isinstance(delay, str | Delay):
            message = f"a delay must be a string or a Delay; got {delay!r}."
            raise OptionError(f'{message}\nHint: for example "uniform:1s:60s", or "constant:30s".')
        return cls.parse(delay) if isinstance(delay, str) else delay

    @classmethod
    def empirical(
        cls, table: pa.Table, *, time: str, arrival: str | None = None, unit: Unit | None = None
    ) -> Delay:
        """Return the distribution of the delays of a table's rows that are out of order.

        Args:
            table: Rows, in order of arrival unless `arrival` is given.
            time: Name of the time column.
            arrival: Name of the column that holds the arrival of a row.
            unit: Unit of integer columns: s, ms, us or ns.

        Raises:
            ColumnNotFoundError: There is no such column.
            ColumnTypeError: A column is not a time.
            OptionError: None of the rows is out of order.
        """
        return cls(f"empirical of {time}", _observed(table, time, arrival, unit))

    def draw(self, uniform: Floats) -> Times:
        """Return a delay for each number in [0, 1)."""
        shares = self.shape.below(self.minimum) + uniform * self._kept()
        drawn = self.shape.quantile(np.minimum(shares, LAST_BELOW_1))
        # Rounding may leave the bounds by a microsecond.
        return np.clip(np.rint(drawn), self.minimum, self.maximum).astype(np.int64)

    def _kept(self) -> float:
        return self.shape.below(self.maximum + 1) - self.shape.below(self.minimum)


_MOST_LISTED = 100_000


def _observed(table: pa.Table, time: str, arrival: str | None, unit: Unit | None = None) -> Listed:
    when = TimeColumn(time, check_unit(unit))
    when.check(table.schema, "time")
    if arrival is not None:
        came = TimeColumn(arrival, unit)
        came.check(table.schema, "arrival")
        table = table.take(np.lexsort((when.micros(table), came.micros(table))))
    behind = np.sort(delays_of(when.micros(table.filter(~when.is_null(table)))))
    behind = np.minimum(behind[behind > 0], LONGEST)
    if not len(behind):
        raise OptionError(
            f'no row is out of order by "{time}", so there are no delays to draw from.\n'
            "Hint: name the column that says when rows arrived, if they are not in that order."
        )
    # A long list is thinned evenly, because it is sent to every worker.
    kept = np.linspace(0, len(behind) - 1, min(len(behind), _MOST_LISTED)).astype(np.int64)
    return Listed.weighted(behind[kept].astype(np.int64), np.ones(len(kept)))


def _plain(text: str, parts: list[str]) -> Delay:
    at = _positive(parts[0], "delay")
    return Delay(text, Listed.weighted(np.array([at]), np.ones(1)))


def _uniform(text: str, parts: list[str]) -> Delay:
    least, most = (parse_duration(part, "delay") for part in parts)
    return Delay(text, Uniform(least, max(least, most)), least, most)


def _exponential(text: str, parts: list[str]) -> Delay:
    return Delay(text, Exponential(_positive(parts[0], "mean")), *_bounds(parts[1:]))


def _normal(text: str, parts: list[str]) -> Delay:
    mean = parse_duration(parts[0], "mean")
    return Delay(text, Normal(mean, _positive(parts[1], "deviation")), *_bounds(parts[2:]))


def _lognormal(text: str, parts: list[str]) -> Delay:
    shape = Lognormal(_positive(parts[0], "median"), _number(parts[1], "sigma", text))
    return Delay(text, shape, *_bounds(parts[2:]))


def _zipf(text: str, parts: list[str]) -> Delay:
    skew, step = _number(parts[0], "skew", text), _positive(parts[1], "step")
    most = parse_duration(parts[2], "maximum")
    steps = max(most // step, 1)
    if steps > _MOST_LISTED:
        message = f"{text!r} has {steps:,} steps; at most {_MOST_LISTED:,} are possible."
        raise OptionError(f"{message}\nHint: use a longer step, or a shorter maximum.")
    ranks = np.arange(1, steps + 1)
    least = parse_duration(parts[3], "minimum") if parts[3:] else 0
    return Delay(
        text, Listed.weighted(ranks * step, ranks.astype(np.float64) ** -skew), least, most
    )


def _empirical(text: str, parts: list[str]) -> Delay:
    file, time, *rest = parts
    arrival = rest[0] if rest and rest[0] else None
    # Arrow's datasets import pandas, which takes longer than everything else here.
    from latecomer.generate.files import read_table

    shape = _observed(read_table(file), time, arrival)
    return Delay(text, shape, *_bounds(rest[1:]))


_FORMS: dict[str, tuple[str, Callable[[str, list[str]], Delay]]] = {
    "constant": ("constant:DELAY", _plain),
    "uniform": ("uniform:MIN:MAX", _uniform),
    "exponential": ("exponential:MEAN[:MIN[:MAX]]", _exponential),
    "normal": ("normal:MEAN:DEVIATION[:MIN[:MAX]]", _normal),
    "lognormal": ("lognormal:MEDIAN:SIGMA[:MIN[:MAX]]", _lognormal),
    "zipf": ("zipf:SKEW:STEP:MAX[:MIN]", _zipf),
    "empirical": ("empirical:FILE:TIME[:ARRIVAL[:MIN[:MAX]]]", _empirical),
}


def _bounds(parts: list[str]) -> tuple[int, int]:
    names = ("minimum", "maximum")
    given = [parse_duration(part, name) for part, name in zip(parts, names, strict=False)]
    least, most = [*given, *(0, LONGEST)[len(given) :]]
    return least, most


def _positive(part: str, name: str) -> int:
    micros = parse_duration(part, name)
    if not micros:
        raise OptionError(f"{name} must be above 0; got {part!r}.\nHint: for example 5s.")
    return min(micros, LONGEST)


def _number(part: str, name: str, text: str) -> float:
    try:
        number = float(part)
    except ValueError:
        number = float("nan")
    if not 0 < number < float("inf"):
        message = f"{name} must be a number above 0; got {part!r} in delay {text!r}."
        raise OptionError(f"{message}\nHint: for example 1.5.")
    return number

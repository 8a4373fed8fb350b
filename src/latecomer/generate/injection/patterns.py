"""Patterns of disorder: how delays vary over time and between sources.

Drift      delays grow and shrink       1× ─╱╲─╱╲─ factor×, once every `period`
Outage     a source falls silent, and    ──▶ │      silent     │▶▶▶▶▶ its backlog, at once
delivers its backlog at once     at                at + lasts
Override   one source has delays of its own
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.errors import ColumnNotFoundError, OptionError, listed
from latecomer.generate.injection.delays import Delay
from latecomer.generate.injection.draws import identify, uniform
from latecomer.time import Duration, Times, parse_duration

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Drift:
    """Delays that grow to `factor` times as long, and shrink again, once every `period`.

    Periods are counted from 1970, where the factor is 1, like Spark's windows.
    """

    period: Duration
    factor: float

    def __post_init__(self) -> None:
        if not parse_duration(self.period, "period"):
            raise OptionError(f"period must be above 0; got {self.period!r}.")
        if not 0 <= float(self.factor) < float("inf"):
            raise OptionError(f"factor must be 0 or more; got {self.factor!r}.")

    def check(self, schema: pa.Schema) -> None:
        """Do nothing: a drift needs no columns."""

    def at(self, times: Times) -> npt.NDArray[np.float64]:
        """Return the factor by which delays are longer at these times."""
        period = parse_duration(self.period, "period")
        phase = (times % period) / period
        return 1 + (float(self.factor) - 1) * (1 - np.cos(2 * np.pi * phase)) / 2


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which a source is silent; at its end, all rows held back arrive at once.

    Without `by` the whole stream is one source. With it, every value of that column is a source.
    The sources in `only` fail, or else a `share` of all sources, drawn by the seed.
    """

    at: Duration
    """Beginning of the outage, counted from the first arrival of the stream."""
    lasts: Duration
    by: str | None = None
    share: float = 1.0
    only: Sequence[object] | None = None

    def __post_init__(self) -> None:
        parse_duration(self.at, "at")
        parse_duration(self.lasts, "lasts")
        check_share("share", self.share)
        if self.by is None and (self.only is not None or self.share != 1):
            given = f"only={self.only!r}" if self.only is not None else f"share={self.share!r}"
            raise OptionError(f"{given} needs a column.\nHint: name it with by=.")
        if isinstance(self.only, str):
            message = f"only must be a list of values; got {self.only!r}."
            raise OptionError(f"{message}\nHint: write only=[{self.only!r}].")

    def check(self, schema: pa.Schema) -> None:
        """Refuse a column that does not exist, or values that it cannot have."""
        self.silences(schema.empty_table(), 0, 0)

    def hold(self, arrivals: Times, silent: Flags, origin: int) -> Times:
        """Return the arrivals, with those of silent sources during the outage moved to its end."""
        begin = origin + parse_duration(self.at, "at")
        back = begin + parse_duration(self.lasts, "lasts")
        return np.where(silent & (arrivals >= begin) & (arrivals < back), back, arrivals)

    def silences(self, rows: pa.Table, seed: int, purpose: int) -> Flags:
        """Return True for each row whose source fails."""
        if self.by is None:
            return np.full(rows.num_rows, fill_value=True)
        column = _column(rows, self.by)
        if self.only is not None:
            return np.logical_or.reduce([_equals(column, value, self.by) for value in self.only])
        return uniform(identify(rows.select([self.by])), seed, purpose) < self.share


@dataclass(frozen=True, slots=True)
class Override:
    """Other delays, or another share of rows delayed, for the rows with one value in a column.

    With a `fraction`, that share of these rows is delayed, whatever share of the other rows must
    be delayed to make the whole stream as disordered as requested.
    """

    by: str
    value: object
    delay: str | Delay | None = None
    fraction: float | None = None

    def __post_init__(self) -> None:
        if self.fraction is not None:
            check_share("fraction", self.fraction)
        if self.delay is not None:
            object.__setattr__(self, "delay", Delay.of(self.delay))
        if self.delay is None and self.fraction is None:
            message = f"the override of {self.by}={self.value!r} changes nothing."
            raise OptionError(f"{message}\nHint: give delay= or fraction=, or both.")

    def check(self, schema: pa.Schema) -> None:
        """Refuse a column that does not exist, or a value that it cannot have."""
        self.applies(schema.empty_table())

    def applies(self, rows: pa.Table) -> Flags:
        """Return True for each row that has the value."""
        return _equals(_column(rows, self.by), self.value, self.by)


Pattern: TypeAlias = Drift | Outage | Override


def check_share(name: str, value: object) -> None:
    """Refuse a value that is not a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise OptionError(f"{name} must be from 0 to 1; got {value!r}.\nHint: 30 % is {name}=0.3.")


def _column(rows: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in rows.schema.names:
        message = f'no column "{name}"; the rows have {listed(rows.schema.names)}.'
        raise ColumnNotFoundError(f"{message}\nHint: name a column with by=.")
    return rows.column(name)


def _equals(column: pa.ChunkedArray, value: object, name: str) -> Flags:
    try:
        wanted = pa.scalar(value).cast(column.type)
    except pa.ArrowException as error:
        message = f'column "{name}" is of type {column.type}, and cannot be {value!r}.'
        raise OptionError(f"{message}\nHint: give a value of that type.") from error
    return np.asarray(pc.fill_null(pc.equal(column, wanted), False))  # noqa: FBT003

"""Times and durations as whole microseconds.

Inside Latecomer a time is an int64 count of microseconds since 1970, and so is a duration. They
are converted once, at the boundary: durations by `parse_duration`, time columns by
`TimeColumn.micros`. Code behind the boundary does not handle time zones or units.

Two values are reserved, and no row may have them: `NEVER` is the watermark before the first
promise, `FOREVER` the watermark after the last row.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from latecomer.errors import ColumnNotFoundError, ColumnTypeError, DurationError, OptionError

NEVER = -(2**63)
FOREVER = 2**63 - 1

Times = npt.NDArray[np.int64]
Duration = str | timedelta
Unit = Literal["s", "ms", "us", "ns"]
UNITS: tuple[Unit, ...] = get_args(Unit)

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
"""Microseconds in an hour, a day and so on."""

_MICROS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": SECOND,
    "minute": MINUTE,
    "hour": HOUR,
    "day": DAY,
    "week": 7 * DAY,
}
_SHORT = {
    "us": "microsecond",
    "ms": "millisecond",
    "s": "second",
    "sec": "second",
    "secs": "second",
    "min": "minute",
    "mins": "minute",
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
    "d": "day",
    "w": "week",
}
UNIT_MICROS = {
    **_MICROS,
    **{f"{word}s": micros for word, micros in _MICROS.items()},
    **{word: _MICROS[unit] for word, unit in _SHORT.items()},
}
"""Every word for a unit of a duration, and its microseconds."""
_PART = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([a-z]+)\s*")


def parse_duration(value: object, name: str) -> int:
    """Read a duration such as "10 minutes", "1 hour 30 minutes" or a timedelta.

    Args:
        value: The value that the user passed.
        name: Name of the parameter, for error messages.

    Returns:
        Microseconds, zero or more.

    Raises:
        DurationError: The value is unreadable, negative, or not a whole number of microseconds.
    """
    if isinstance(value, timedelta):
        micros = Fraction(value // timedelta(microseconds=1))
    elif isinstance(value, str):
        micros = _parse_text(value, name)
    else:
        raise DurationError(
            f"{name} must be a duration; got {value!r}.\n"
            f'Hint: write it with a unit, for example {name}="10 minutes", or pass a timedelta.'
        )
    if micros < 0:
        raise DurationError(
            f"{name} cannot be negative; got {value!r}.\nHint: use 0 seconds or a longer duration."
        )
    if micros.denominator != 1:
        raise DurationError(f"{name} must be a whole number of microseconds; got {value!r}.")
    if micros >= FOREVER:
        raise DurationError(f"{name} is longer than 292,000 years; got {value!r}.")
    return int(micros)


def parse_signed_duration(value: object, name: str) -> int:
    """Read a duration that may be negative, such as "-5 minutes"; see `parse_duration`."""
    if isinstance(value, str) and value.strip().startswith("-"):
        return -parse_duration(value.strip()[1:], name)
    if isinstance(value, timedelta) and value < timedelta(0):
        return -parse_duration(-value, name)
    return parse_duration(value, name)


def _parse_text(text: str, name: str) -> Fraction:
    rest = text.strip().lower()
    micros = Fraction(0)
    while match := _PART.match(rest):
        amount, unit = match.groups()
        if unit not in UNIT_MICROS:
            break
        micros += Fraction(amount) * UNIT_MICROS[unit]
        rest = rest[match.end() :]
    if rest or not text.strip():
        raise DurationError(
            f"cannot read {name}={text!r} as a duration.\n"
            f'Hint: a number and a unit, for example "10 minutes" or "1 hour 30 minutes"; '
            f"units are {', '.join(_MICROS)} (months and years have no fixed length)."
        )
    return micros


def check_unit(unit: str | None) -> Unit | None:
    """Return the unit, or None for columns that need none; refuse any other text.

    Raises:
        OptionError: The unit is unknown.
    """
    if unit is not None and unit not in UNITS:
        raise OptionError(f"unknown unit {unit!r}.\nHint: use one of {', '.join(UNITS)}.")
    return unit


_MANY = 100


def minus(time: int | Times, times: Times) -> Times:
    """Return `time - times`, where `time` is at or after each of them.

    `time` is a single time, or an array with one for each of `times`. A difference that does not
    fit in 64 bits is `FOREVER`.
    """
    differences = np.asarray(time, np.int64) - times
    if int(differences.min(initial=0)) >= 0:
        return differences
    return np.where((differences < 0) & (times <= time), FOREVER, differences)


def format_duration(micros: int) -> str:
    """Write a duration in the largest unit that leaves it readable, for example "1.5 hours"."""
    for unit in ("day", "hour", "minute", "second", "millisecond"):
        if abs(micros) >= _MICROS[unit]:
            value = micros / _MICROS[unit]
            amount = f"{value:,.0f}" if abs(value) >= _MANY else f"{value:.3g}"
            return f"{amount} {unit}" if amount == "1" else f"{amount} {unit}s"
    return f"{micros} microseconds" if micros else "0 seconds"


def duration_text(value: Duration) -> str:
    """Return the text of a duration: the one given, or "1 hour 30 minutes" for a timedelta."""
    if isinstance(value, str):
        return " ".join(value.split())
    rest, parts = value // timedelta(microseconds=1), []
    for unit in ("day", "hour", "minute", "second", "millisecond", "microsecond"):
        count, rest = divmod(rest, _MICROS[unit])
        if count:
            parts.append(f"{count} {unit}{'s' if count > 1 else ''}")
    return " ".join(parts) or "0 seconds"


def wait_texts(waits: Sequence[int], texts: Sequence[str]) -> tuple[str, ...]:
    """Return the text of each wait: `texts` if there are any, otherwise the exact durations."""
    return tuple(texts or (duration_text(timedelta(microseconds=wait)) for wait in waits))


def in_millis(micros: int | Times) -> Times:
    """Return durations in whole milliseconds, rounded up: a late row is at least 1 ms behind."""
    return -(-np.asarray(micros, np.int64) // 1_000)


def whole_millis(micros: int) -> int:
    """Return one duration in whole milliseconds, rounded up as `in_millis` does."""
    return -(-micros // 1_000)


def check_there(schema: pa.Schema, name: str, role: str) -> None:
    """Refuse a column name that is missing from the schema, or that occurs several times."""
    count = schema.names.count(name)
    if count != 1:
        names = ", ".join(f'"{name}"' for name in schema.names) or "none"
        wrong = f'no column "{name}"' if not count else f'{count} columns named "{name}"'
        raise ColumnNotFoundError(
            f"{wrong}; the rows have {names}.\n"
            f'Hint: name the column with {role}="...", or with --{role} on the command line.'
        )


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """The column that holds the time of a row, and its unit if it is a plain integer."""

    name: str
    unit: Unit | None = None
    """The unit of an integer column; None for timestamp and date columns."""

    def check(self, schema: pa.Schema, role: str) -> None:
        """Refuse a column that is missing or is not a time; `role` is the user's name for it."""
        check_there(schema, self.name, role)
        kind = schema.field(self.name).type
        is_integer = pa.types.is_integer(kind)
        if pa.types.is_timestamp(kind) or pa.types.is_date32(kind) or (is_integer and self.unit):
            return
        hint = (
            f"name its unit with unit=, one of {', '.join(UNITS)}"
            if is_integer
            else "convert it to a timestamp first"
        )
        raise ColumnTypeError(
            f'the {role} column "{self.name}" is of type {kind}; it must be a timestamp, a date, '
            f"or an integer with a unit.\nHint: {hint}."
        )

    def micros(self, batch: pa.Table, *, null: int | None = None) -> Times:
        """Return the times of all rows.

        Timestamps in microseconds, which is what Spark delivers, are not copied.

        Args:
            batch: The rows.
            null: Time to return for rows without one. Leave it out if every row has a time.
        """
        times = self._checked(self._column(batch))
        return times if null is None else np.where(self.is_null(batch), null, times)

    def is_null(self, batch: pa.Table) -> npt.NDArray[np.bool_]:
        """Return True for each row that has no time."""
        column = self._column(batch)
        if not column.null_count:
            return np.zeros(len(column), np.bool_)
        return np.asarray(column.is_null())

    def replaced(self, batch: pa.Table, micros: Sequence[int] | Times) -> pa.Table:
        """Return the rows with their times replaced.

        If the column is coarser than a microsecond, times are rounded up, so that a row moved to
        a watermark is never before it.

        Raises:
            ColumnTypeError: A time does not fit the type of the column.
        """
        at = batch.schema.get_field_index(self.name)
        field = batch.schema.field(at)
        moved = np.asarray(micros, np.int64)
        try:
            values = from_micros(moved, field.type, self.unit)
        except pa.ArrowInvalid as error:
            raise ColumnTypeError(
                f'column "{self.name}" is of {field.type}, which cannot hold the time that a late '
                f"row is moved to ({error}).\n"
                'Hint: cast the column to bigint, or choose another policy than late="adjust".'
            ) from error
        return batch.set_column(at, field, values)

    def _checked(self, column: pa.ChunkedArray) -> Times:
        values, factor = _counts(column, self.unit)
        if factor == 1:
            return values
        if factor == 0:
            return np.floor_divide(values, 1_000)
        largest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
        if largest > FOREVER // factor:
            raise ColumnTypeError(
                f'column "{self.name}" holds {largest:,}, which is beyond the year 294,000 if 1 '
                f"stands for {format_duration(factor)}.\n"
                "Hint: check the unit."
            )
        return values * factor

    def _column(self, batch: pa.Table) -> pa.ChunkedArray:
        if batch.schema.get_field_index(self.name) < 0:
            names = ", ".join(f'"{name}"' for name in batch.schema.names)
            message = f'no column "{self.name}"; the rows have {names}.'
            raise ColumnNotFoundError(message)
        return batch.column(self.name)


PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0}


def _counts(column: pa.ChunkedArray, unit: Unit | None) -> tuple[Times, int]:
    """Return a column as integers, and the microseconds in one unit of it: 0 for nanoseconds."""
    kind = column.type
    if pa.types.is_date32(kind):
        return _integers(column, pa.int32()), DAY
    if pa.types.is_timestamp(kind):
        unit = kind.unit
    values = _integers(column, kind if pa.types.is_integer(kind) else pa.int64())
    return values, PER_UNIT[unit or "us"]


def _integers(column: pa.ChunkedArray, kind: pa.DataType) -> Times:
    # NumPy has no nulls: if there is one, Arrow would convert the whole column to floats.
    views = [chunk.view(kind) for chunk in column.chunks]
    parts = [(view.fill_null(0) if view.null_count else view).to_numpy() for view in views]
    values = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, np.int64), *parts])
    return values.astype(np.int64, copy=False)


def from_micros(micros: Times, kind: pa.DataType, unit: Unit | None) -> pa.Array:
    """Return times as a column of the given type, rounded up if the type is coarser."""
    if pa.types.is_date32(kind):
        return pa.array(-(-micros // DAY), pa.int32()).view(kind)
    if pa.types.is_timestamp(kind):
        unit = kind.unit
    counts = micros * 1_000 if unit == "ns" else -(-micros // PER_UNIT[unit or "us"])
    array = pa.array(counts, pa.int64())
    return array.view(kind) if pa.types.is_timestamp(kind) else array.cast(kind)

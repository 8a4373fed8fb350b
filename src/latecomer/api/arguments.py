"""Read the arguments of temporal streams, and check them on the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from latecomer.errors import ColumnNameError, ColumnNotFoundError, ColumnTypeError, OptionError
from latecomer.operators.aggregates.base import Aggregate
from latecomer.operators.aggregates.custom import UserAggregate
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.temporal.binary import On
from latecomer.operators.temporal.session import Closing
from latecomer.operators.temporal.whole import EDGE, END, START
from latecomer.operators.windows.grid import FARTHEST
from latecomer.time import Duration, format_duration, parse_duration, parse_signed_duration

if TYPE_CHECKING:
    from latecomer.api.temporal import TemporalStream
    from latecomer.clock.policy import ClockPolicy

    Key = str | Sequence[str] | Mapping[str, str] | None

TAKEN = (START, END, EDGE)
"""Names of columns that Latecomer adds."""


def length(value: Duration, name: str) -> int:
    """Return a duration in microseconds; refuse one of 0."""
    micros = parse_duration(value, name)
    if micros == 0:
        raise OptionError(
            f"{name} must be longer than 0; got {format_duration(micros)}.\n"
            f'Hint: for example {name}="10 minutes".'
        )
    return _reachable(micros, name)


def signed(value: Duration, name: str) -> int:
    """Return a duration in microseconds that may be negative."""
    return _reachable(parse_signed_duration(value, name), name)


def _reachable(micros: int, name: str) -> int:
    if abs(micros) > FARTHEST:
        message = f"{name} is longer than tens of thousands of years; got {micros:,} microseconds."
        raise OptionError(message)
    return micros


def read_closing(timeout: Duration, max_duration: Duration | None) -> Closing:
    """Return the rules by which sessions end."""
    most = None if max_duration is None else length(max_duration, "max_duration")
    return Closing(length(timeout, "timeout"), most)


def read_on(on: Key) -> On:
    """Return the columns in which rows must be equal."""
    if on is None:
        return On()
    if isinstance(on, str):
        return On((on,), (on,))
    if isinstance(on, Mapping):
        return On(tuple(on), tuple(on.values()))
    return On(tuple(on), tuple(on))


def is_number(value: object) -> bool:
    """Return True for a number; a boolean is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse a value that is not one of those that an argument can have."""
    if value not in allowed:
        raise OptionError(f"{name} cannot be {value!r}.\nHint: use one of {', '.join(allowed)}.")


def clashing(names: Sequence[str], reserved: Sequence[str] = ()) -> str | None:
    """Return the first name that is reserved, begins as Latecomer's own do, or is there twice."""
    # Spark ignores the case of a name.
    lower = [name.lower() for name in names]
    for name, low in zip(names, lower, strict=True):
        if low in reserved or low.startswith("_lc_") or lower.count(low) > 1:
            return name
    return None


def check_names(schema: pa.Schema) -> None:
    """Refuse columns that have the name of another."""
    users = [name for name in schema.names if not name.startswith("_lc_")]
    if name := clashing(users, TAKEN):
        raise ColumnNameError(
            f'a column cannot be named "{name.lower()}", because another column has that name.\n'
            "Hint: rename the column before the sort, or give the result of an aggregate "
            f"another name. Latecomer itself uses {', '.join(TAKEN)}."
        )


def check_columns(schema: pa.Schema, columns: Sequence[str]) -> None:
    """Refuse columns that do not exist, or cannot be compared."""
    for name in columns:
        if name not in schema.names:
            found = ", ".join(f'"{each}"' for each in schema.names) or "none but its lifetime"
            raise ColumnNotFoundError(
                f'no column "{name}"; the stream has {found}.\n'
                "Hint: columns that are computed must be there before the sort."
            )
        if pa.types.is_nested(schema.field(name).type):
            raise ColumnTypeError(
                f'column "{name}" is of type {schema.field(name).type}; rows can be grouped and '
                "compared by plain values only.\n"
                "Hint: compute a plain column from it before the sort, with with_columns."
            )


def check_key_types(ours: pa.Schema, theirs: pa.Schema, on: On) -> None:
    """Refuse keys whose two columns are of different types."""
    for one, other_one in zip(on.left, on.right, strict=True):
        kinds = ours.field(one).type, theirs.field(other_one).type
        if kinds[0] != kinds[1]:
            raise ColumnTypeError(
                f'column "{one}" is of type {kinds[0]} and "{other_one}" of type {kinds[1]}; only '
                "columns of the same type can be compared.\n"
                "Hint: cast one of them before the sort, with with_columns."
            )


def check_one_wait(clock: ClockPolicy) -> None:
    """Refuse lifetimes for rows that come out once after each of several waits."""
    if clock.answers > 1:
        raise OptionError(
            "lifetimes are not available on a stream with several waits.\n"
            "Hint: sort(wait=...) with one wait."
        )


def check_meeting(left: TemporalStream, right: TemporalStream) -> None:
    """Refuse streams that cannot meet in one query."""
    if right.groups not in ((), left.groups):
        raise OptionError(
            f"a stream that is grouped by {', '.join(right.groups)} cannot be combined with one "
            "that is not.\n"
            "Hint: inside apply, combine the stream that the function receives, or ungrouped "
            "streams."
        )
    if left.df.isStreaming != right.df.isStreaming:
        raise OptionError(
            "one of the two streams is a streaming DataFrame, and the other is not.\n"
            "Hint: read both with readStream; or join the static one with df.join, before the "
            "sort."
        )
    kinds = [each.df.schema[each.plan.source.time.name].dataType for each in (left, right)]
    zoned = [kind.typeName() != "timestamp_ntz" for kind in kinds]
    if zoned[0] != zoned[1]:
        raise ColumnTypeError(
            "the times of one stream have a time zone (timestamp), those of the other have none "
            "(timestamp_ntz).\nHint: cast one of them before the sort."
        )


def grouped(stream: TemporalStream, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns by which rows are grouped: those of `apply`, then others; each once."""
    return tuple(dict.fromkeys((*stream.groups, *columns)))


def summarized(
    stream: TemporalStream,
    keys: tuple[str, ...],
    aggregates: Mapping[str, Aggregate | UserAggregate],
) -> tuple[TemporalStream, Summary]:
    """Return the stream with the inputs of the aggregates, and the aggregates by group."""
    stream, computed = _with_inputs(stream, specified(aggregates))
    return stream, Summary(grouped(stream, keys), tuple(computed.items()))


def specified(aggregates: Mapping[str, Aggregate | UserAggregate]) -> dict[str, Aggregate]:
    """Return aggregates in the form that operators take; refuse an empty mapping."""
    if not aggregates:
        raise OptionError(
            "aggregate was given nothing to compute.\n"
            "Hint: for example aggregate(rows=latecomer.agg.count())."
        )
    return {
        name: aggregate.specification() if isinstance(aggregate, UserAggregate) else aggregate
        for name, aggregate in aggregates.items()
    }


def _with_inputs(
    stream: TemporalStream, aggregates: dict[str, Aggregate]
) -> tuple[TemporalStream, dict[str, Aggregate]]:
    """Let Spark compute the inputs of aggregates, if columns that it adds reach this operator."""
    from latecomer.hosts.spark import inputs

    if not stream.plan.carries_columns:
        read = [name for each in aggregates.values() for name in each.columns]
        if not all(isinstance(name, str) for name in read):
            raise OptionError(
                "after a join, an aggregate or stitch, and with edges=True, only columns can be "
                "aggregated, not expressions.\n"
                "Hint: compute the expression before the sort with with_columns, and aggregate "
                "that column."
            )
        stream.checked(tuple(read))
        return stream, aggregates
    df, computed = inputs.with_inputs(stream.df, aggregates, stream.schema().names)
    return stream.changed(stream.plan, (df,)), computed

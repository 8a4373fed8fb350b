"""What is passed to temporal streams: read, and checked on the driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from latecomer.errors import ColumnNameError, ColumnNotFoundError, ColumnTypeError, OptionError
from latecomer.operators.temporal.binary import On
from latecomer.operators.temporal.whole import EDGE, END, START
from latecomer.operators.windows import FARTHEST
from latecomer.time import Duration, format_duration, parse_duration, parse_signed_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.temporal import TemporalStream

    Key = str | Sequence[str] | Mapping[str, str] | None

_TAKEN = (START, END, EDGE)


def length(value: Duration, name: str) -> int:
    """Read how long something is; it cannot be nothing."""
    micros = parse_duration(value, name)
    if micros == 0:
        message = f"{name} cannot be {format_duration(micros)}: nothing counts for no time."
        raise OptionError(message)
    return _reachable(micros, name)


def signed(value: Duration, name: str) -> int:
    """Read a duration that may be negative."""
    return _reachable(parse_signed_duration(value, name), name)


def _reachable(micros: int, name: str) -> int:
    if abs(micros) > FARTHEST:
        message = f"{name} is longer than tens of thousands of years; got {micros:,} microseconds."
        raise OptionError(message)
    return micros


def read_on(on: Key) -> On:
    """Read in which columns rows must be equal."""
    if on is None:
        return On()
    if isinstance(on, str):
        return On((on,), (on,))
    if isinstance(on, Mapping):
        return On(tuple(on), tuple(on.values()))
    return On(tuple(on), tuple(on))


def check_names(schema: pa.Schema) -> None:
    """Refuse columns that have the name of another."""
    # Spark does not mind the case of a name.
    names = [name.lower() for name in schema.names]
    for name in names:
        if name in _TAKEN or names.count(name) > 1:
            message = (
                f'a column cannot be named "{name}", which another one is.\n'
                f"Hint: {', '.join(_TAKEN)} are given by Latecomer; rename it before the sort, "
                "or give the result of an aggregate another name."
            )
            raise ColumnNameError(message)


def check_columns(schema: pa.Schema, columns: Sequence[str]) -> None:
    """Refuse columns that are not there, or cannot be compared."""
    for name in columns:
        if name not in schema.names:
            found = ", ".join(f'"{each}"' for each in schema.names) or "none but its lifetime"
            message = (
                f'no column "{name}"; the stream has {found}.\n'
                "Hint: columns that are computed must be there before the sort."
            )
            raise ColumnNotFoundError(message)
        if pa.types.is_nested(schema.field(name).type):
            message = (
                f'column "{name}" is of type {schema.field(name).type}; rows are told apart by '
                "plain values only.\nHint: take out a part of it before the sort."
            )
            raise ColumnTypeError(message)


def check_key_types(ours: pa.Schema, theirs: pa.Schema, on: On) -> None:
    """Refuse keys of which the two columns are of different types."""
    for one, other_one in zip(on.left, on.right, strict=True):
        kinds = ours.field(one).type, theirs.field(other_one).type
        if kinds[0] != kinds[1]:
            message = (
                f'column "{one}" is of type {kinds[0]} and "{other_one}" of type {kinds[1]}; '
                "rows are equal only in columns of one type.\n"
                "Hint: cast one of them before the sort, with with_columns."
            )
            raise ColumnTypeError(message)


def check_meeting(left: TemporalStream, right: TemporalStream) -> None:
    """Refuse streams that cannot meet in one query."""
    if right.groups not in ((), left.groups):
        raise OptionError(
            f"a stream grouped by {', '.join(right.groups)} meets one that is not.\n"
            "Hint: inside apply, use the stream that the function is given, or ungrouped ones."
        )
    if left.df.isStreaming != right.df.isStreaming:
        message = (
            "one of the two streams is a streaming DataFrame, and the other is not.\n"
            "Hint: read both with readStream; or join the static one by df.join, before the sort."
        )
        raise OptionError(message)
    kinds = [each.df.schema[each.plan.source.time.name].dataType for each in (left, right)]
    zoned = [kind.typeName() != "timestamp_ntz" for kind in kinds]
    if zoned[0] != zoned[1]:
        message = (
            "the times of one stream have a time zone (timestamp), those of the other have none "
            "(timestamp_ntz).\nHint: cast one of them before the sort."
        )
        raise ColumnTypeError(message)

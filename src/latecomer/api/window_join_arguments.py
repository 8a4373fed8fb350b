"""Read the arguments of `window_join`, and check them on the driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import pyarrow as pa

from latecomer.api.arguments import check_choice, check_columns, clashing, is_number
from latecomer.api.disordered import DisorderedStream
from latecomer.api.readable import Readable
from latecomer.errors import ColumnNameError, ColumnTypeError, OptionError, OrderError
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.window_join.buffer_size_manager import Quality
from latecomer.operators.window_join.equalities import Equalities, Pair
from latecomer.operators.windows.grid import FARTHEST
from latecomer.time import Duration, parse_duration

if TYPE_CHECKING:
    from types import EllipsisType

    On = str | Sequence[str] | Mapping[str, str] | Sequence[tuple[str, str]] | None

Feedback = Literal["calibrated", "paper", "none"]
FEEDBACKS: tuple[Feedback, ...] = get_args(Feedback)

MINUTE, STEP = 60_000_000, 10_000
"""The period and the granularity of the paper, for windows of 5 seconds; others in proportion."""
PAPER_WINDOW = 5_000_000
COPIES = 4
"""Largest default number of buckets that streams are copied to."""
LEAST = 2
"""Smallest number of streams that can be joined."""


def check_streams(streams: object) -> None:
    """Refuse streams that cannot be joined in one query."""
    if not isinstance(streams, Mapping) or len(streams) < LEAST:
        given = ", ".join(map(str, streams)) if isinstance(streams, Mapping) else repr(streams)
        raise OptionError(
            f"a window join needs two streams or more, by name; got {given or 'none'}.\n"
            'Hint: window_join({"bid": bids, "ask": asks}, within="5 seconds").'
        )
    for name, stream in streams.items():
        _check_stream(name, stream)
    streaming = {name: stream.df.isStreaming for name, stream in streams.items()}
    if len(set(streaming.values())) > 1:
        still = ", ".join(name for name, moves in streaming.items() if not moves)
        raise OptionError(
            f"some streams are streaming DataFrames, and others are not: {still}.\n"
            "Hint: read all with readStream; or join the static ones first, with df.join."
        )
    kinds = {name: _kind_of_time(stream) for name, stream in streams.items()}
    if len(set(kinds.values())) > 1:
        # The time of a result is that of its latest row, in the type of the first stream's time.
        given = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        raise ColumnTypeError(
            f"the times of all streams must be of one type; got {given}.\n"
            "Hint: cast them to timestamp first, for example with timestamp_millis."
        )


def _kind_of_time(stream: DisorderedStream) -> str:
    kind = stream.df.schema[stream.source.time.name].dataType.typeName()
    is_plain = kind in ("date", "timestamp", "timestamp_ntz")
    return kind if is_plain else f"{kind} in {stream.source.time.unit}"


def _check_stream(name: object, stream: object) -> None:
    if not isinstance(name, str) or "." in name or name.startswith("_lc"):
        raise OptionError(
            f"a stream cannot be named {name!r}: its columns are named after it in the result, and "
            'it stands before the dot in "stream.column".\n'
            'Hint: use a word without a dot, such as "bid".'
        )
    if isinstance(stream, Readable):
        raise OrderError(
            f'"{name}" is sorted already, and a window join chooses by itself how long to wait.\n'
            "Hint: pass the stream that disordered(...) returned, without sort."
        )
    if not isinstance(stream, DisorderedStream):
        raise OptionError(
            f'"{name}" is {type(stream).__name__}, not a disordered stream.\n'
            'Hint: pass latecomer.disordered(df, time="..."), without windows.'
        )
    source = stream.source
    if source.end is not None or stream.clock or stream.sources or stream.promise is not None:
        raise OptionError(
            f'a window join does not support end=, clock=, sources= and promise=; "{name}" has one '
            "of them.\n"
            "Hint: leave them out in disordered()."
        )


def read_windows(
    within: Duration | Mapping[str, Duration], names: tuple[str, ...]
) -> tuple[int, ...]:
    """Return, for each stream, the longest time from its row to the latest row of a result."""
    each = within if isinstance(within, Mapping) else dict.fromkeys(names, within)
    if each.keys() != set(names):
        raise OptionError(
            f"within must give the window of each stream; got {', '.join(each)} for "
            f"{', '.join(names)}.\n"
            "Hint: one duration for all, or a dict with one for each name."
        )
    windows = tuple(parse_duration(each[name], f"within of {name}") for name in names)
    if max(windows) > FARTHEST:
        raise OptionError(
            f"within is longer than tens of thousands of years; got {max(windows):,} microseconds."
        )
    return windows


def read_on(on: On, names: tuple[str, ...], schemas: Sequence[pa.Schema]) -> Equalities:
    """Return the columns in which rows must be equal."""
    pairs = []
    for left, right in _pairs(on, names):
        (one, ours), (other, theirs) = (_end(each, names) for each in (left, right))
        if one == other:
            raise OptionError(
                f'"{left}" and "{right}" are columns of the same stream.\n'
                "Hint: compare columns of one stream with where, before the join."
            )
        check_columns(schemas[one], [ours])
        check_columns(schemas[other], [theirs])
        kinds = schemas[one].field(ours).type, schemas[other].field(theirs).type
        if kinds[0] != kinds[1]:
            raise ColumnTypeError(
                f'"{left}" is of type {kinds[0]} and "{right}" of type {kinds[1]}; only columns of '
                "the same type can be compared.\n"
                "Hint: cast one of them first, with with_columns."
            )
        pairs.append(Pair(one, ours, other, theirs))
    return Equalities.of(len(names), pairs)


def keys_of(on: Equalities, schemas: Sequence[pa.Schema]) -> list[tuple[str, ...]]:
    """Return the columns that decide the bucket of a row, for each stream.

    Without a common key, rows of the first stream are distributed by all of their columns, and rows
    of the others are copied to all buckets. Each result has exactly one row of the first stream, so
    exactly one bucket finds it.
    """
    common = on.common_keys()
    if common:
        return [tuple(key[stream] for key in common) for stream in range(len(schemas))]
    plain = tuple(field.name for field in schemas[0] if not pa.types.is_nested(field.type))
    return [plain, *(() for _ in schemas[1:])]


def _pairs(on: On, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return `on`, in any of its forms, as pairs of "stream.column"."""
    if on is None:
        return []
    if isinstance(on, Mapping):
        if on.keys() != set(names):
            raise OptionError(
                f"on must name a column of each stream; got {', '.join(on)} for "
                f'{", ".join(names)}.\nHint: or give pairs, on=[("a.x", "b.y"), ...].'
            )
        return [(f"{names[0]}.{on[names[0]]}", f"{name}.{on[name]}") for name in names[1:]]
    pairs: list[tuple[str, str]] = []
    for each in on if isinstance(on, list | tuple) else [on]:
        match each:
            case str():
                pairs += [(f"{names[0]}.{each}", f"{name}.{each}") for name in names[1:]]
            case [str(left), str(right)]:
                pairs.append((left, right))
            case _:
                raise OptionError(
                    f"on takes columns, or pairs of them; got {each!r}.\n"
                    'Hint: on="symbol", or on=[("a.x", "b.y"), ("b.z", "c.z")].'
                )
    return pairs


def _end(text: str, names: tuple[str, ...]) -> tuple[int, str]:
    """Return the number of the stream and the column of "stream.column"."""
    name, dot, column = text.partition(".")
    if not dot or name not in names:
        raise OptionError(
            f'"{text}" does not name a stream and its column; the streams are {", ".join(names)}.\n'
            f'Hint: for example "{names[0]}.{column or text}".'
        )
    return names.index(name), column


def read_condition(
    where: Callable[..., bool] | None, names: tuple[str, ...], schemas: Sequence[pa.Schema]
) -> Condition | None:
    """Return a condition, after checking that it compiles; None if there is none."""
    if where is None:
        return None
    if not callable(where):
        raise OptionError(
            f"where must be a function of one row of each stream; got {where!r}.\n"
            f"Hint: for example lambda {', '.join(names)}: ...; a condition on single rows belongs "
            "to the where of their stream."
        )
    condition = Condition(where)
    condition.check(names, schemas)
    return condition


def read_wait(
    recall: float | None, wait: Duration | EllipsisType | None
) -> int | Literal["max", "recall"]:
    """Return the wait in microseconds; or "max", or "recall" if a recall chooses it."""
    if wait is ...:
        return "recall"
    if recall is not None:
        raise OptionError(
            f"recall={recall!r} and wait={wait!r} cannot be combined, because a recall chooses the "
            "wait.\n"
            "Hint: leave out one of them."
        )
    if wait is None:
        return 0
    return "max" if wait == "max" else parse_duration(wait, "wait")


def read_quality(
    recall: float | None,
    windows: tuple[int, ...],
    period: Duration | None,
    interval: Duration | None,
    granularity: Duration | None,
    feedback: Feedback,
) -> Quality:
    """Return the requested recall, with the period, interval and steps of its control."""
    check_choice("feedback", feedback, FEEDBACKS)
    if recall is not None and not is_number(recall):
        message = f"recall must be from 0 to 1; got {recall!r}."
        raise OptionError(message + "\nHint: for 99 % of all results use 0.99.")
    # As in the paper for windows of the same length, and in proportion for others.
    longest = max(windows) or PAPER_WINDOW
    whole = MINUTE * longest // PAPER_WINDOW if period is None else parse_duration(period, "period")
    step = (
        max(STEP * longest // PAPER_WINDOW, 1)
        if granularity is None
        else parse_duration(granularity, "granularity")
    )
    often = max(whole // 60, 1) if interval is None else parse_duration(interval, "interval")
    return Quality(0.99 if recall is None else recall, whole, often, step, step, feedback=feedback)


def check_names(schema: pa.Schema) -> None:
    """Refuse results in which two columns have the same name."""
    if name := clashing(schema.names):
        raise ColumnNameError(
            f'two columns of a result would be named "{name.lower()}".\n'
            "Hint: give the streams other names, or rename a column first."
        )

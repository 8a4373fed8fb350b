"""Operators on one stream, by their names in the vectors."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.temporal.aggregate import SnapshotAggregate
from latecomer.operators.temporal.alter import Alter, PointAtEnd, Quantize, Shift
from latecomer.operators.temporal.binary import On
from latecomer.operators.temporal.chop import Chop
from latecomer.operators.temporal.clip import Clip, UntilNext
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.extend import Extend
from latecomer.operators.temporal.join import Join
from latecomer.operators.temporal.session import Closing, Session
from latecomer.operators.temporal.stitch import Stitch
from tests.conformance.applicable import NotApplicableError
from tests.conformance.temporal.aggregates import Wanted
from tests.conformance.temporal.binary import LEFT_KEY, clip_by, key_column, on_payloads
from tests.conformance.temporal.events import PAYLOAD, encoded
from tests.conformance.temporal.patterns import detect
from tests.conformance.temporal.rows import (
    Columns,
    Row,
    equality,
    expression,
    of_payload,
    payload,
    same,
)
from tests.conformance.temporal.streams import RIGHT, Asked, Builder, Stream
from tests.conformance.temporal.windows import Hop, QuantizeProgressively


def select_many(_: Builder, stream: Stream, asked: Asked) -> Stream:
    return stream.payloads(of_payload(asked["selector"]))


def select(_: Builder, stream: Stream, asked: Asked) -> Stream:
    return stream.payload(of_payload(asked["selector"]))


def where(_: Builder, stream: Stream, asked: Asked) -> Stream:
    predicate = of_payload(asked["predicate"])
    return stream.payloads(lambda row: [payload(row)] if predicate(row) else [])


def unpivot(_: Builder, stream: Stream, asked: Asked) -> Stream:
    def rows_of(row: Row) -> list[Any]:
        given, keys = payload(row), asked["key_columns"]
        kept = {name: given[name] for name in keys}
        return [
            kept | {asked["attribute"]: name, asked["value"]: value}
            for name, value in given.items()
            if name not in keys and value is not None
        ]

    return stream.payloads(rows_of)


def aggregate(builder: Builder, stream: Stream, asked: Asked) -> Stream:
    wanted = [Wanted(each, at, builder.kind) for at, each in enumerate(asked["aggs"])]
    made = {name: made for each in wanted for name, made in each.aggregates.items()}
    result = expression(asked["result"])

    def answer(row: Row) -> Any:  # noqa: ANN401 - any JSON
        return result(**{f"a{each.at}": each.result(row) for each in wanted})

    return (
        stream.columns(*(column for each in wanted for column in each.columns))
        .then(SnapshotAggregate(Summary(stream.groups, tuple(made.items()))))
        .payload(answer)
    )


def alter(_: Builder, stream: Stream, asked: Asked) -> Stream:
    duration = asked["duration"]
    if duration == "inf" or isinstance(duration, int):
        return stream.then(Alter(None if duration == "inf" else duration))
    column = ("duration", pa.int64(), of_payload(duration))
    return stream.columns(same(PAYLOAD), column).then(Alter("duration")).payload()


def clip(_: Builder, stream: Stream, asked: Asked) -> Stream:
    return stream.then(Clip(asked["limit"]))


def clip_self(builder: Builder, stream: Stream, asked: Asked) -> Stream:
    if asked["left_key"] != asked["right_key"]:
        return clip_by(builder, stream, stream, asked)
    keyed = stream.columns(same(PAYLOAD), key_column(LEFT_KEY, asked))
    return keyed.then(UntilNext((LEFT_KEY, *stream.groups))).payload()


def extend(_: Builder, stream: Stream, asked: Asked) -> Stream:
    return stream.then(Extend(asked["duration"]))


def session(_: Builder, stream: Stream, asked: Asked) -> Stream:
    # A maximum of 0 means no maximum.
    closing = Closing(asked["timeout"], asked["max_duration"] or None)
    return stream.then(Session(stream.groups, closing))


def shift(_: Builder, stream: Stream, asked: Asked) -> Stream:
    return stream.then(Shift(asked["amount"]))


def alter_lifetime(builder: Builder, stream: Stream, asked: Asked) -> Stream:
    """Shift starts by a constant, and set the durations."""
    start = expression(str(asked.get("start", "vs")))
    amount, somewhere = start(vs=0), 1_000_000
    if start(vs=somewhere) != somewhere + amount:
        raise NotApplicableError("rows are moved by another time each, and no watermark can follow")
    return alter(builder, stream.then(Shift(amount)), asked)


def chop(_: Builder, stream: Stream, asked: Asked) -> Stream:
    return stream.then(Chop(asked["period"], asked.get("offset", 0)))


def stitch(_: Builder, stream: Stream, asked: Asked) -> Stream:
    if "key" in asked:
        key = of_payload(asked["key"])
        column = (LEFT_KEY, pa.string(), lambda row: encoded(key(row)))
        keyed = stream.columns(same(PAYLOAD), column)
        return keyed.then(Stitch((LEFT_KEY, *stream.groups))).payload()
    text = equality(asked)
    if text is None:
        return stream.then(Stitch())
    return stream.then(Stitch(stream.groups, Condition(on_payloads(expression(text), PAYLOAD))))


def point_at_end(_: Builder, stream: Stream, __: Asked) -> Stream:
    return stream.then(PointAtEnd())


def quantize(_: Builder, stream: Stream, asked: Asked) -> Stream:
    operator = Quantize(asked["size"], asked["period"], asked.get("offset", 0))
    progress = asked.get("progress")
    return stream.then(QuantizeProgressively(operator, progress) if progress else operator)


def hop(_: Builder, stream: Stream, asked: Asked) -> Stream:
    period = asked["period"] if "period" in asked else asked["size"]
    return stream.then(Hop(asked["size"], period, asked.get("offset", 0)))


def hop_repeatedly(builder: Builder, stream: Stream, asked: Asked) -> Stream:
    return chop(builder, hop(builder, stream, asked), asked)


def intersect(builder: Builder, stream: Stream, asked: Asked) -> Stream:
    """Join with a row that counts in the interval."""
    event = {"kind": "interval", "sync": asked["start"], "other": asked["end"]}
    builder.inputs.append([event])
    interval = builder.source(len(builder.inputs) - 1).then(Columns((same(RIGHT, PAYLOAD),)))
    return builder.meet(stream, interval, Join(On())).payload()


UNARY: dict[str, Callable[[Builder, Stream, Asked], Stream]] = {
    "aggregate": aggregate,
    "alter_event_duration": alter,
    "alter_event_lifetime": alter_lifetime,
    "chop": chop,
    "clip_event_duration": clip,
    "detect": detect,
    "extend_lifetime": extend,
    "hopping_window_lifetime": hop,
    "intersect_with_interval": intersect,
    "multicast_clip_self": clip_self,
    "point_at_end": point_at_end,
    "progressive_quantize_lifetime": quantize,
    "quantize_lifetime": quantize,
    "repetitive_hopping_window_lifetime": hop_repeatedly,
    "select": select,
    "select_many": select_many,
    "session_timeout_window": session,
    "shift_event_lifetime": shift,
    "stitch": stitch,
    "tumbling_window_lifetime": hop,
    "unpivot": unpivot,
    "where": where,
}

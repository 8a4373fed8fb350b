"""A query as data, turned into operators.

A query is a list of steps. Each step is one operator of Latecomer between two that compute columns:
the one before computes the columns that the operator reads, the one after computes the new payload.
Inside `group_apply`, the key of the group is a column, and part of the key of every operator.
"""

from dataclasses import replace

import pyarrow as pa

from tests.conformance.applicable import NotApplicableError
from tests.conformance.temporal.binary import BINARY, union
from tests.conformance.temporal.events import PAYLOAD, encoded
from tests.conformance.temporal.rows import expression, of_payload, payload, same
from tests.conformance.temporal.streams import Asked, Builder, Stream
from tests.conformance.temporal.unary import UNARY


def made(builder: Builder, stream: Stream, steps: list[Asked]) -> Stream:
    """Add the steps of a query to a stream."""
    for asked in steps:
        stream = _step(builder, stream, asked)
    return stream


def _step(builder: Builder, stream: Stream, asked: Asked) -> Stream:
    match asked["op"]:
        case "group_apply":
            return group_apply(builder, stream, asked)
        case "multicast_union":
            return multicast_union(builder, stream, asked)
        case "multicast_binary":
            return combined(builder, stream, stream, asked)
        case "binary":
            return combined(builder, stream, builder.source(1), asked)
        case name if name in UNARY and not (name in BINARY and "limit" not in asked):
            return UNARY[name](builder, stream, asked)
        case name if name in BINARY:
            return BINARY[name](builder, stream, builder.source(1), asked)
    name = asked["op"]
    raise NotApplicableError(f"no operator does what {name} does")


def group_apply(builder: Builder, stream: Stream, asked: Asked) -> Stream:
    name, key = f"group_{len(stream.groups)}", of_payload(asked["key"])
    result = expression(asked.get("result", "v"))
    grouped = stream.columns(same(PAYLOAD), (name, pa.string(), lambda row: encoded(key(row))))
    grouped = replace(grouped, groups=(*stream.groups, name))
    inside = made(builder, grouped, asked["apply"])
    return replace(inside, groups=stream.groups).payload(
        lambda row: result(key=payload(row, name), v=payload(row))
    )


def multicast_union(builder: Builder, stream: Stream, asked: Asked) -> Stream:
    first, *others = (made(builder, stream, steps) for steps in asked["branches"])
    for other in others:
        first = union(builder, first, other, asked)
    return first


def combined(builder: Builder, left: Stream, right: Stream, asked: Asked) -> Stream:
    """Apply a query to each of two streams, and then combine them."""
    combine = asked["combine"]
    left, right = made(builder, left, asked["left"]), made(builder, right, asked["right"])
    return BINARY[combine["op"]](builder, left, right, combine)

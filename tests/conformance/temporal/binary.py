"""Operators on two streams, by their names in the vectors."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from latecomer.operators.temporal.binary import On
from latecomer.operators.temporal.clip import ClipBy
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.join import How, Join
from latecomer.operators.temporal.union import Union
from tests.conformance.temporal.events import PAYLOAD, encoded
from tests.conformance.temporal.rows import Column, Row, expression, of_payload, payload, same
from tests.conformance.temporal.streams import RIGHT, Asked, Builder, Stream

LEFT_KEY, RIGHT_KEY = "left_key", "right_key"


def union(builder: Builder, left: Stream, right: Stream, _: Asked) -> Stream:
    return builder.meet(left, right, Union(On()))


def key_column(name: str, asked: Asked) -> Column:
    key = of_payload(asked.get(name, "0"))
    return name, pa.string(), lambda row: encoded(key(row))


def keyed(left: Stream, right: Stream, asked: Asked) -> tuple[Stream, Stream, On]:
    """Compute the keys of two streams; the payload of the right one is renamed."""
    ours = left.columns(same(PAYLOAD), key_column(LEFT_KEY, asked))
    theirs = right.columns(same(RIGHT, PAYLOAD), key_column(RIGHT_KEY, asked))
    return ours, theirs, On((LEFT_KEY, *left.groups), (RIGHT_KEY, *right.groups))


def clip_by(builder: Builder, left: Stream, right: Stream, asked: Asked) -> Stream:
    ours, theirs, on = keyed(left, right, asked)
    return builder.meet(ours, theirs, ClipBy(on)).payload()


def joined(how: How, *results: str) -> Callable[[Builder, Stream, Stream, Asked], Stream]:
    """Return a function that makes a join.

    Args:
        how: The kind of join.
        results: The names of the results of pairs, of unmatched left rows and of right ones.
    """

    def join(builder: Builder, left: Stream, right: Stream, asked: Asked) -> Stream:
        ours, theirs, on = keyed(left, right, asked)
        functions = [expression(asked[name]) for name in results if name in asked]
        condition = None
        if "post_predicate" in asked:
            condition = Condition(on_payloads(expression(asked["post_predicate"])))

        def result(row: Row) -> Any:  # noqa: ANN401 - any JSON
            if how == "anti":
                return payload(row)
            at = 2 if row[PAYLOAD] is None else 1 if row[RIGHT] is None else 0
            return functions[at](l=payload(row), r=payload(row, RIGHT))

        return builder.meet(ours, theirs, Join(on, how, condition)).payload(result)

    return join


def on_payloads(predicate: Callable[..., Any], name: str = RIGHT) -> Callable[[Any, Any], bool]:
    """Turn a predicate on payloads into one on rows, given the name of the second payload."""

    def holds(left: Any, right: Any) -> bool:  # noqa: ANN401 - rows have the columns they have
        second = payload({PAYLOAD: getattr(right, name)})
        return bool(predicate(l=payload({PAYLOAD: left.p}), r=second))

    return holds


BINARY: dict[str, Callable[[Builder, Stream, Stream, Asked], Stream]] = {
    "clip_by": clip_by,
    "clip_event_duration": clip_by,
    "full_outer_join": joined("full", "inner_result", "left_result", "right_result"),
    "join": joined("inner", "result"),
    "left_outer_join": joined("left", "inner_result", "outer_result"),
    "union": union,
    "where_not_exists": joined("anti"),
}

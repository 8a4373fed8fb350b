"""The parts of a query that must not change during the life of a checkpoint, and their comparison.

A query that `start` runs may go on with another wait, and with columns that its source did not have
before (`hosts.spark.durable.record`). Everything else must stay the same.

The identity is a dictionary that is written as JSON, into the state of each bucket and into the
record of the whole query. A function without a version is identified by its code, which can only be
compared within one version of Python. Where it cannot, the query goes on with a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer import labels
from latecomer.errors import IdentityWarning
from latecomer.hosts.differences import OTHER_WAITS
from latecomer.operators.base import ORIGINAL_TIME, NewColumns

if TYPE_CHECKING:
    from latecomer.plan import Plan


def identity(plan: Plan, at: int) -> dict[str, Any]:
    """Return the parts of a stage that must not change during the life of a checkpoint."""
    return {
        "label format": labels.FORMAT,
        "operators": plan.stages[at].labels,
        "time": [plan.source.time.name, plan.source.time.unit],
        "key": list(plan.stages[at].key),
        "before_1970": any(each.source.before_1970 for each in plan.inputs),
        **plan.clock.identity,
    }


def state_identity(plan: Plan, at: int) -> dict[str, Any]:
    """Return the parts of a stage that must not change during the life of its state.

    The record of a query describes each stream separately. A state also includes the waits of the
    streams that meet this one.
    """
    others = [each.clock.identity.get("wait") for each in plan.stages[at].rights]
    return identity(plan, at) | ({OTHER_WAITS: others} if others else {})


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield each part that has changed: its name, its value before, and its value now.

    Parts that an older release did not record are not compared.

    Warns:
        IdentityWarning: It cannot be known whether a function has changed.
    """
    for name, was in before.items():
        is_now = now.get(name)
        if was == is_now:
            continue
        if name == "operators" and was and is_now and len(was) == len(is_now):
            found = {*map(labels.compared, was, is_now)}
            if "changed" not in found:
                warnings.warn(
                    "cannot check whether the functions of the query are the same as before: the "
                    "checkpoint was written by another version of Python, or with functions that "
                    "had no version.\n"
                    f"was: {', '.join(was)}\n"
                    f"now: {', '.join(is_now)}\n"
                    "Hint: give each function a version, with latecomer.versioned.",
                    IdentityWarning,
                    stacklevel=2,
                )
                continue
        yield name, was, is_now


Column = tuple[str, str, bool]
"""The name and type of a column, and whether it may be null."""


def named_columns(schema: pa.Schema) -> list[Column]:
    """Return the columns of a schema in a form that can be compared."""
    return [(field.name, str(field.type), field.nullable) for field in schema]


def column_changes(
    before: Iterable[Column], now: Iterable[Column], new: NewColumns
) -> Iterator[str]:
    """Describe each change of a column that keeps a query from going on.

    The column that keeps the times of moved rows is Latecomer's own and is not compared: it comes
    and goes with late="adjust".

    Args:
        before: The columns of held rows.
        now: The columns of the rows that come in.
        new: How the operators treat columns that held rows do not have.
    """
    were = {name: kind for name, kind, _ in before if name != ORIGINAL_TIME}
    are = {name: (kind, may_lack) for name, kind, may_lack in now if name != ORIGINAL_TIME}
    for name, kind in were.items():
        if name not in are:
            yield f'column "{name}" was {kind}, is no longer there'
        elif are[name][0] != kind:
            yield f'column "{name}" was {kind}, is now {are[name][0]}'
    for name, (kind, may_lack) in are.items():
        if name not in were and new == "refused":
            yield f'column "{name}" was not there, is now {kind}'
        elif name not in were and new == "null" and not may_lack:
            yield f'column "{name}" is new and never null, and held rows have no value for it'

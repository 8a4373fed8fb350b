"""Choose the stage that an operator goes to.

Rows of one key meet in one bucket. A *stage* is the sequence of operators that run there, all with
the same key. An operator that needs another key begins a new stage, and rows are shuffled again.

    sort, alter, aggregate by a, b    one stage, by (a, b)
    then aggregate by a               another, by (a): rows of one `a` were in several buckets
    aggregate by a, then by a, b      one stage, by (a): rows of one (a, b) are together already

Sorting, and operators that look at one row at a time, run in any bucket. So the first operator that
needs a key sets the key of the stage. Where two streams meet, the last stage of the second stream
runs in the buckets of the first. It has the same key, under the second stream's own column names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from latecomer.operators.base import Operator
from latecomer.plan import Plan
from latecomer.plan.stage import Meeting, Stage

if TYPE_CHECKING:
    from latecomer.operators.temporal.binary import Binary

Key = tuple[str, ...]


def then(plan: Plan, operator: Operator) -> Plan:
    """Return a plan with one more operator at its end."""
    return _appended(_placed(plan, operator.keyed), operator)


def then_optimistic(plan: Plan, operator: Operator) -> Plan:
    """Return a plan with one more step that works with items and tombstones.

    Rows of a key are already together if the last stage is grouped by some of its columns, and if
    no function has written those columns since.
    """
    last, key = plan.stages[-1], operator.keyed
    keeps_keys = all(each.keeps_keys for each in last.operators)
    together = last.key and keeps_keys and set(last.key) <= set(key or ())
    if key is None or together or not (last.key or key):
        return _appended(plan, operator)
    return replace(plan, stages=(*plan.stages, Stage(key, (operator,))))


def meet(plan: Plan, operator: Binary, right: Plan, rows: pa.Schema) -> Plan:
    """Return a plan in which a second stream comes in; `rows` are its columns where it is read.

    Raises:
        OptionError: The clock of one of the streams does not allow it.
    """
    names = dict(zip(operator.on.left, operator.on.right, strict=True))
    plan.clock.check_meeting(right.clock, names)
    right.clock.check_meeting(plan.clock, {theirs: ours for ours, theirs in names.items()})
    right = _numbered(right, len(plan.inputs))
    if operator.everywhere:
        plan.clock.check_group(())
        # Every bucket gets all rows of the second stream; rows of the first are not moved.
        right = replace(right, stages=(*right.stages, Stage((), everywhere=True)))
        return _appended(plan, Meeting(operator, right, rows))
    placed = _placed(plan, operator.keyed)
    key = tuple(names.get(name, name) for name in placed.stages[-1].key)
    last = right.stages[-1]
    is_moved = bool(set(key) & last.brings)
    if last.is_free and not is_moved:
        right = right.with_last(last.with_key(key))
    elif last.key != key or is_moved:
        right = replace(right, stages=(*right.stages, Stage(key)))
    return _appended(placed, Meeting(operator, right, rows))


def _appended(plan: Plan, operator: Operator) -> Plan:
    last = plan.stages[-1]
    return plan.with_last(replace(last, operators=(*last.operators, operator)))


def _placed(plan: Plan, key: Key | None) -> Plan:
    """Return a plan whose last stage has all rows of a key together."""
    if key is None:
        return plan
    plan.clock.check_group(key)
    last = plan.stages[-1]
    if plan.clock.columns:
        # Rows with the same clock are in one bucket, and every key contains the clock's columns.
        return plan
    if last.is_free and not set(key) & last.brings:
        return plan.with_last(last.with_key(key))
    if set(last.key) <= set(key) and (last.key or not key):
        return plan
    plan.clock.check_travel(key)
    return replace(plan, stages=(*plan.stages, Stage(key)))


def _numbered(plan: Plan, by: int) -> Plan:
    """Return a plan with the numbers of its streams raised by `by`."""
    stages = tuple(stage.with_rights(lambda right: _numbered(right, by)) for stage in plan.stages)
    source = replace(plan.source, number=plan.source.number + by)
    return replace(plan, source=source, stages=stages)

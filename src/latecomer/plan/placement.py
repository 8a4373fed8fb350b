"""Which stage an operator goes to.

Rows of one key meet in one bucket, and a *stage* is what runs there: as many operators as agree on
the key. An operator that needs another one begins a new stage, to which rows travel once more.

    sort, alter, aggregate by a, b    one stage, by (a, b)
    then aggregate by a               another, by (a): rows of one `a` were in several buckets
    aggregate by a, then by a, b      one stage, by (a): rows of one (a, b) are together already

Sorting, and what looks at one row at a time, runs in any bucket. So the first operator that needs a
key chooses that of the stage. Where two streams meet, the last stage of the second runs where the
first one is, and has the same key, under its own names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from latecomer.errors import OptionError
from latecomer.operators.distinct import Distinct
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.operators.patterns.detect import Detect
from latecomer.operators.temporal.specification import Temporal
from latecomer.plan.plan import Meeting, Plan, Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from latecomer.operators.base import Operator
    from latecomer.operators.temporal.binary import Binary

Key = tuple[str, ...]


def then(plan: Plan, operator: Temporal | Distinct | Detect) -> Plan:
    """Put an operator behind a plan."""
    return _appended(plan, operator, operator.keyed)


def then_optimistic(plan: Plan, operator: Optimistic) -> Plan:
    """Put a step behind others that work with items and tombstones.

    Rows of a key are together already if they were by a part of it, and if no function has said
    since then what stands in its columns.
    """
    last, key = plan.stages[-1], operator.keyed
    is_there = all(isinstance(each, Optimistic) and each.keeps_keys for each in last.operators)
    together = last.key and is_there and set(last.key) <= set(key or ())
    if key is None or together or not (last.key or key):
        return _with_last(plan, replace(last, operators=(*last.operators, operator)))
    return replace(plan, stages=(*plan.stages, Stage(key, (operator,))))


def meet(plan: Plan, operator: Binary, right: Plan, rows: pa.Schema) -> Plan:
    """Let a second stream come in.

    Args:
        plan: The first stream.
        operator: Where they meet.
        right: The second stream.
        rows: What its rows look like where they are read.

    Raises:
        OptionError: The keys of one of them have clocks of their own, or one has a recall.
    """
    if plan.recalls or right.recalls:
        message = (
            "a stream whose wait follows from its recall has a watermark of its own in each "
            "bucket, and no common time in which to meet another.\n"
            'Hint: sort(wait="10 minutes") both; lc.profile tells which wait gives which recall.'
        )
        raise OptionError(message)
    if plan.source.clock or right.source.clock:
        message = (
            "streams whose keys have clocks of their own have no common time in which to meet.\n"
            "Hint: leave out clock= in disordered."
        )
        raise OptionError(message)
    right = _numbered(right, len(plan.inputs))
    placed = _placed(plan, operator.keyed)
    if operator.everywhere:
        # Everybody has all rows of the second stream, and the first stays where it is.
        everywhere = Stage((), (), everywhere=True)
        right = replace(right, stages=(*right.stages, everywhere))
        return _appended(plan, Meeting(operator, right, rows), None)
    names = dict(zip(operator.on.left, operator.on.right, strict=True))
    key = tuple(names.get(name, name) for name in placed.stages[-1].key)
    if is_free(right.stages[-1]):
        right = _with_last(right, _rekeyed(right.stages[-1], key))
    elif right.stages[-1].key != key:
        right = replace(right, stages=(*right.stages, Stage(key, ())))
    return _appended(placed, Meeting(operator, right, rows), operator.keyed)


def check_clock(plan: Plan, key: Key) -> None:
    """Refuse a grouping that would mix rows with different clocks.

    Raises:
        OptionError: It does.
    """
    if not set(plan.source.clock) <= set(key):
        clock = ", ".join(f'"{name}"' for name in plan.source.clock)
        given = ", ".join(f'"{name}"' for name in key) or "nothing"
        message = (
            f"each {clock} has a clock of its own, and rows grouped by {given} have no common "
            f"time.\nHint: group by {clock} as well, or leave out clock= in disordered."
        )
        raise OptionError(message)


def is_free(stage: Stage) -> bool:
    """Tell whether what runs in a stage runs in any bucket."""
    others = (meeting.right.stages[-1] for meeting in stage.meetings.values())
    needs = (_keyed(operator) for operator in stage.operators)
    return all(key is None for key in needs) and all(map(is_free, others))


def _keyed(operator: Operator) -> Key | None:
    if isinstance(operator, Meeting):
        return operator.operator.keyed
    return operator.keyed if isinstance(operator, Temporal | Distinct | Detect) else None


def _appended(plan: Plan, operator: Operator, key: Key | None) -> Plan:
    plan = _placed(plan, key)
    last = plan.stages[-1]
    return _with_last(plan, replace(last, operators=(*last.operators, operator)))


def _placed(plan: Plan, key: Key | None) -> Plan:
    """Make the last stage one in which all rows of a key are together."""
    last = plan.stages[-1]
    if key is None:
        return plan
    if plan.source.clock:
        check_clock(plan, key)
        return plan
    if is_free(last) and not set(key) & _brought(last):
        return _with_last(plan, _rekeyed(last, key))
    if set(last.key) <= set(key) and (last.key or not key):
        return plan
    if plan.recalls:
        given = ", ".join(f'"{name}"' for name in key) or "nothing"
        message = (
            f"rows would have to travel once more, to be grouped by {given}, and with a recall "
            "the buckets that they come from do not wait equally long.\n"
            f"Hint: name this key in disordered(df, key=...), or sort with a wait instead."
        )
        raise OptionError(message)
    return replace(plan, stages=(*plan.stages, Stage(key, ())))


def _brought(stage: Stage) -> set[str]:
    """Name the columns that rows do not have yet when they come to a stage."""
    return {
        name
        for meeting in stage.meetings.values()
        if meeting.operator.everywhere
        for name in meeting.right.output_schema(meeting.rows).names
        if name not in meeting.operator.on.right
    }


def _rekeyed(stage: Stage, key: Key) -> Stage:
    """Give a stage another key, and with it the streams that come in."""
    stage = _each_meeting(stage, lambda right: _with_last(right, _rekeyed(right.stages[-1], key)))
    return replace(stage, key=key)


def _each_meeting(stage: Stage, change: Callable[[Plan], Plan]) -> Stage:
    """Change the plans of all streams that come in."""
    operators = (
        replace(each, right=change(each.right)) if isinstance(each, Meeting) else each
        for each in stage.operators
    )
    return replace(stage, operators=tuple(operators))


def _with_last(plan: Plan, stage: Stage) -> Plan:
    return replace(plan, stages=(*plan.stages[:-1], stage))


def _numbered(plan: Plan, by: int) -> Plan:
    """Number the streams of a plan from `by` on."""
    stages = tuple(
        _each_meeting(stage, lambda right: _numbered(right, by)) for stage in plan.stages
    )
    source = replace(plan.source, number=plan.source.number + by)
    return replace(plan, source=source, stages=stages)

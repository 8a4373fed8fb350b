"""The query of a checkpoint: a record of it, checked before any data is read.

Each bucket checks its own state as well, but only when it has rows. A micro-batch that reaches only
new buckets would commit with other settings, and then neither the old nor the new settings would
work.

    CHECKPOINT/latecomer/query/record      the query that began the checkpoint
    CHECKPOINT/latecomer/query/record-1    the first change that it went on with, and so on

**What may change.** All other changes are refused, with an error that names them.

- *The wait*, if there is one for each stream. The watermark never falls. Its floor is `newest −
  wait` by the old wait in the last micro-batch that has begun, and it stays there until the new
  wait takes it further. All buckets have the same floor, so whether a row is late does not depend
  on which of them were awake. If each key has a clock of its own, each has a floor of its own. With
  `idle`, a longer wait is refused: the clock also goes on by itself, and only the buckets know how
  far it has come.
- *Columns* may be added if the operators allow it (`Operator.new_columns`).
- *The late policy*, except to or from late="fold", which holds other states, and late="adjust" if
  no columns may be added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from latecomer.clock.policy import ClockPolicy
from latecomer.errors import StateFormatError
from latecomer.hosts.differences import changed, changed_operators
from latecomer.hosts.identity import changes, column_changes, identity, named_columns
from latecomer.hosts.spark.columns import arrow_schema, partitions
from latecomer.hosts.spark.durable.ledger import Ledger, is_missing
from latecomer.hosts.spark.flush import has_states
from latecomer.operators.optimistic.items import HIDDEN
from latecomer.plan import Plan
from latecomer.time import NEVER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


FORMAT = 1
"""Version of the record. Raise it when an older one can no longer be compared."""

Query = dict[str, Any]


def described(dfs: Sequence[DataFrame], plan: Plan, buckets: int | None, states: str) -> Query:
    """Return the record of a query: all that identifies it during the life of a checkpoint."""
    stages = [identity(each, at) for each in plan.inputs for at in range(len(each.stages))]
    found: Query = {"format": FORMAT, "states": states, "stages": stages, "idle": plan.idle}
    if states == "buckets":
        found["buckets"] = buckets or partitions(dfs[0])
    found["results"] = plan.output_schema(arrow_schema(dfs[0])).names
    found["inputs"] = [
        {
            "late": each.late if each.clock.horizon is None else "fold",
            "horizon": each.clock.horizon,
            "wait": list(each.clock.waits),
            "columns": [list(column) for column in named_columns(arrow_schema(df))],
        }
        for each, df in zip(plan.inputs, dfs, strict=True)
    ]
    return found


@dataclass(frozen=True, slots=True)
class History:
    """The queries that a checkpoint has been run with; the last one is the query to run now."""

    records: tuple[Query, ...]
    is_changed: bool
    """Whether the last one has no record in the checkpoint yet."""

    def resumed(self, plan: Plan, schema: Callable[[], Any]) -> Plan:
        """Return the plan with the floors of its watermarks, and the waits and columns before."""
        last = self.records[-1]
        if any(
            each["inputs"][0]["columns"] != last["inputs"][0]["columns"] for each in self.records
        ):
            # A bucket that wakes without rows must know their columns.
            plan = replace(plan, source=replace(plan.source, rows=schema()))
        if "floors" not in last:
            return plan

        def clock(each: Plan) -> ClockPolicy:
            number = each.source.number
            waits = (wait for one in self.records for wait in one["inputs"][number]["wait"])
            return each.clock.after([*dict.fromkeys(waits)], last["floors"][number])

        return plan.with_clocks(clock)

    def write(self, spark: SparkSession, checkpoint: str) -> None:
        """Write a record of the change, once this driver owns the checkpoint."""
        if self.is_changed:
            number = len(self.records) - 1
            _ledger(spark, checkpoint).add(f"record-{number}", self.records[-1])


def read(spark: SparkSession, checkpoint: str) -> History:
    """Return the queries that a checkpoint has been run with.

    Raises:
        StateFormatError: There is no record, or one is of another format.
    """
    records = _records(spark, checkpoint)
    if not records:
        raise StateFormatError(
            f'the checkpoint "{checkpoint}" has no record of a query.\n'
            "Hint: name a checkpoint that start() created."
        )
    return History(tuple(records), is_changed=False)


def states(spark: SparkSession, checkpoint: str) -> str | None:
    """Return where the states of a checkpoint are kept; None if it has no record yet."""
    records = _records(spark, checkpoint)
    return str(records[-1]["states"]) if records else None


def write_first(spark: SparkSession, checkpoint: str, query: Query) -> None:
    """Write the record of the query that begins a checkpoint."""
    _ledger(spark, checkpoint).add("record", query)


def check_query(
    spark: SparkSession, checkpoint: str, plan: Plan, query: Query, newest: Callable[[], int]
) -> History:
    """Refuse a query that cannot go on with the checkpoint; write the record of the first one.

    `newest` returns the newest time of the checkpoint; it is called if the wait has changed.

    Raises:
        StateFormatError: The checkpoint is of another query, or of an older release.
    """
    records = _records(spark, checkpoint)
    if not records:
        if not is_missing(spark, f"{checkpoint}/state") and has_states(spark, checkpoint):
            raise StateFormatError(
                f'the checkpoint "{checkpoint}" holds state but no record of its query: start() of '
                "this release did not create it. Older releases used a clock in Spark that is "
                "2,000 years ahead, and it cannot be set back.\n"
                "Hint: continue with the version that wrote it, or start with a new checkpoint."
            )
        write_first(spark, checkpoint, query)
        return History((query,), is_changed=False)
    before = records[-1]
    if found := [*dict.fromkeys(_refused(before, query, plan))]:
        # A column of ours comes and goes with an expression, which is named as well.
        told = [each for each in found if f'"{HIDDEN}' not in each] or found
        raise StateFormatError(
            f'the checkpoint "{checkpoint}" belongs to another query: {"; ".join(told)}.\n'
            f"Hint: {_hint(before, query)}"
        )
    if all(before.get(name) == query[name] for name in ("inputs", "stages")):
        return History(tuple(records), is_changed=False)
    floors = before.get("floors") or [NEVER for _ in plan.inputs]
    is_waiting_anew = any(one["wait"] != other["wait"] for one, other in _inputs(before, query))
    if is_waiting_anew and not plan.clock.keeps_marks:
        reached = newest()
        floors = [
            max(floor, reached - one["wait"][-1]) if reached != NEVER and one["wait"] else floor
            for floor, one in zip(floors, before["inputs"], strict=True)
        ]
    changed = query | {"number": len(records), "floors": floors}
    return History((*records, changed), is_changed=True)


def _records(spark: SparkSession, checkpoint: str) -> list[Query]:
    """Read all records, the first one first."""
    records = _ledger(spark, checkpoint).read()
    for each in records:
        if each.get("format") != FORMAT:
            raise StateFormatError(
                f'the checkpoint "{checkpoint}" has a record in format {each.get("format")}; this '
                f"version of Latecomer reads format {FORMAT}.\n"
                "Hint: continue with the version that wrote it, or start with a new checkpoint."
            )
    return sorted(records, key=lambda record: int(record.get("number", 0)))


def _ledger(spark: SparkSession, checkpoint: str) -> Ledger:
    return Ledger(spark, f"{checkpoint}/latecomer/query")


def _inputs(before: Query, now: Query) -> list[tuple[Any, Any]]:
    """Pair the streams of two queries that have the same number of them."""
    return [*zip(before["inputs"], now["inputs"], strict=True)]


def _refused(before: Query, now: Query, plan: Plan) -> Iterator[str]:
    """Describe each change with which the query cannot go on."""
    yield from _moved(before, now)
    for name, part in (("number of streams", "inputs"), ("number of stages", "stages")):
        if len(before[part]) != len(now[part]):
            yield changed(name, len(before[part]), len(now[part]))
            return
    for one, other in _inputs(before, now):
        yield from _changed_input(one, other, plan)
    for one, other in zip(before["stages"], now["stages"], strict=True):
        for name, was, is_now in changes(one, other):
            if name == "operators":
                yield from _changed_operators(was, is_now, before, now)
            elif name != "wait" or not _goes_on(was, is_now, plan):
                yield changed(name, was, is_now)


def _moved(before: Query, now: Query) -> Iterator[str]:
    """Describe changes of where states are kept, and of the sources that Spark reads."""
    for name in ("states", "buckets"):
        if before.get(name) != now.get(name):
            yield changed(name, before.get(name), now.get(name))
    was, is_now = before.get("idle"), now["idle"]
    # Ticks of the wall clock are one more Spark source, and a checkpoint cannot gain or lose one.
    if (was is None) != (is_now is None):
        yield changed("idle", was, is_now)


def _changed_input(before: Mapping[str, Any], now: Mapping[str, Any], plan: Plan) -> Iterator[str]:
    """Describe changes of the columns of a stream, and of its late policy."""
    lates = {before["late"], now["late"]}
    needs = {"fold", "adjust"} if plan.new_columns == "refused" else {"fold"}
    if len(lates) > 1 and lates & needs:
        yield changed("late", before["late"], now["late"])
    elif before["horizon"] != now["horizon"]:
        yield changed("horizon", before["horizon"], now["horizon"])
    yield from column_changes(before["columns"], now["columns"], plan.new_columns)


def _changed_operators(were: list[str], are: list[str], before: Query, now: Query) -> Iterator[str]:
    """Describe a change of the operators: the names of the results, or else what has changed."""
    if before["results"] != now["results"]:
        yield changed("results", before["results"], now["results"])
    elif all(one["horizon"] == other["horizon"] for one, other in _inputs(before, now)):
        yield from changed_operators(were, are)


def _goes_on(before: object, now: object, plan: Plan) -> bool:
    """Return True if a query can go on with another wait."""
    is_plain = plan.stages[0].join is None and plan.clock.horizon is None
    if not (isinstance(before, int) and isinstance(now, int) and is_plain):
        return False
    if plan.clock.columns:
        return len(plan.inputs) == 1
    return now <= before or plan.idle is None


def _hint(before: Query, now: Query) -> str:
    """Return the hint for a query that cannot go on."""
    if any(before.get(name) != now.get(name) for name in ("states", "buckets")):
        return (
            "continue with the query as it was, or carry held rows over to a new checkpoint with "
            "migrate(); docs/checkpoints.md says how."
        )
    return (
        "continue with the query as it was, or start with a new checkpoint; docs/checkpoints.md "
        "says what can change, and how to move to a new one."
    )

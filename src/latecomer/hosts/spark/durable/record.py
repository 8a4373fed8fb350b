"""What a checkpoint is for: one record for the whole query, checked before any data is read.

Each bucket checks its own state as well, but only when it has rows. A micro-batch that reaches only
new buckets would commit under other settings, and then neither the old nor the new ones would work.
"""

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from latecomer.errors import StateFormatError
from latecomer.hosts.identity import changes, identity
from latecomer.hosts.spark.columns import partitions
from latecomer.hosts.spark.durable.ledger import Ledger
from latecomer.hosts.spark.flush import has_states
from latecomer.plan import Plan
from latecomer.time import format_duration

FORMAT = 1
"""Version of the record. Raise it when an older one can no longer be compared."""

_DURATIONS = {"wait", "idle"}


def described(df: DataFrame, plan: Plan, buckets: int | None, states: str) -> dict[str, Any]:
    """Describe a query by all that must not change during the life of a checkpoint."""
    stages = [identity(each, at) for each in plan.inputs for at in range(len(each.stages))]
    found: dict[str, Any] = {"format": FORMAT, "states": states, "stages": stages}
    if states == "buckets":
        found["buckets"] = buckets or partitions(df)
    return found


def check_query(spark: SparkSession, checkpoint: str, query: dict[str, Any]) -> None:
    """Refuse a query other than the one that the checkpoint was begun with; record the first one.

    Raises:
        StateFormatError: It is another query, or one of an older release.
    """
    ledger = Ledger(spark, f"{checkpoint}/latecomer/query")
    records = ledger.read()
    if not records:
        if has_states(spark, checkpoint):
            raise StateFormatError(
                f'the checkpoint "{checkpoint}" holds state, and no record of its query: start() '
                "of this release did not begin it. An older release ran by a clock that is 2,000 "
                "years ahead in Spark, and cannot fall.\n"
                "Hint: go on with the version that wrote it, or start with a new checkpoint."
            )
        ledger.add("record", query)
        return
    before = records[0]
    if before.get("format") != FORMAT:
        raise StateFormatError(
            f'the checkpoint "{checkpoint}" has a record in format {before.get("format")}; this '
            f"version of Latecomer reads format {FORMAT}.\n"
            "Hint: go on with the version that wrote it, or start with a new checkpoint."
        )
    found = _changes(before, query)
    if found:
        raise StateFormatError(
            f'the checkpoint "{checkpoint}" was begun by another query: {"; ".join(found)}.\n'
            "Hint: go on with the query as it was, or start with a new checkpoint."
        )


def _changes(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Say in words what has changed."""
    found = [
        _change(name, before.get(name), now.get(name))
        for name in ("states", "buckets")
        if before.get(name) != now.get(name)
    ]
    old, new = before["stages"], now["stages"]
    if len(old) != len(new):
        return [*found, _change("number of stages", len(old), len(new))]
    for one, other in zip(old, new, strict=True):
        for name, was, is_now in changes(one, other):
            change = _change(name, _words(name, was), _words(name, is_now))
            found += [] if change in found else [change]
    return found


def _change(name: str, before: object, now: object) -> str:
    was, is_now = ("were", "are") if name.endswith("s") else ("was", "is")
    return f"{name} {was} {before}, {is_now} now {now}"


def _words(name: str, value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_words(name, each) for each in value)
    if name in _DURATIONS and isinstance(value, int):
        return format_duration(value)
    return str(value)

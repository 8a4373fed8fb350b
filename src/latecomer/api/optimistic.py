"""Results that are computed at once, and corrected when a late row comes: `optimistic`; thin.

    lc.disordered(df, time="time", key="account")
      .optimistic(wait="1 hour")                                   OptimisticStream
      .stateful(update, initial=0.0, outputs="balance double")     no buffer before it, nor before
      .flat_map(alerts, outputs="text string")                     any other step
      .changelog_df()                                              inserts and deletes, at once
      .barrier().to_df()                                           or final rows, in order

Items and tombstones are described in `latecomer.operators.optimistic.items`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from latecomer.api.arguments import check_columns
from latecomer.api.readable import Readable
from latecomer.errors import ColumnNameError, DurationError, OptionError
from latecomer.hosts.spark.columns import arrow_schema
from latecomer.hosts.spark.inputs import declared
from latecomer.operators.optimistic.barrier import Barrier
from latecomer.operators.optimistic.changelog import CHANGE_NUMBER, CHANGE_TYPE, Changelog
from latecomer.operators.optimistic.flat_map import FlatMap
from latecomer.operators.optimistic.grouping import ITEMS, Grouping
from latecomer.operators.optimistic.items import is_hidden, shown
from latecomer.operators.optimistic.specification import Optimistic
from latecomer.operators.optimistic.stateful import EVERY, Stateful
from latecomer.operators.optimistic.written import frozen
from latecomer.plan import Plan, Stage, placement
from latecomer.plan.explain import explained
from latecomer.time import Duration, format_duration, parse_duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from latecomer.operators.optimistic.enter import Enter

    Key = str | Sequence[str] | None
    Columns = str | StructType


@dataclass(frozen=True, slots=True)
class CorrectedStream(Readable):
    """Final rows in order, or a changelog of inserts and deletes."""


@dataclass(frozen=True, slots=True)
class OptimisticStream:
    """Rows that are processed as they arrive; results are corrected later."""

    df: DataFrame
    plan: Plan
    buckets: int | None

    def stateful(
        self,
        update: Callable[[Any, Any], tuple[Any, Any]],
        *,
        outputs: Columns,
        key: Key = None,
        initial: Any = None,  # noqa: ANN401 - any state
        every: int = EVERY,
    ) -> OptimisticStream:
        """Run a function over the rows of each key, in order of time, with a state.

        See `latecomer.operators.optimistic.stateful`, and for what a function is given and may
        return `latecomer.operators.optimistic.functions`.

        Args:
            update: A function of a state and a row that returns the next state and the output.
            outputs: The columns of the output, in Spark SQL: "balance double, is_low boolean". The
                time and the key are added before them.
            key: The column or columns whose rows share a state; by default the key of the stream.
                Without any key there is one state for all rows.
            initial: The state before the first row of a key.
            every: Keep one state for this many rows of a key, to continue from when a late row
                comes.

        Raises:
            OptionError: `update` is not a function, `every` is not a positive integer, or the
                initial state cannot be saved.
            ColumnNotFoundError: A column of the key does not exist.
            ColumnTypeError: A column of the key is nested, or outputs cannot be read.
            ColumnNameError: Two columns would have one name.
        """
        names = self._key(key)
        if not _is_count(every):
            raise OptionError(f"every must be a number of rows, 1 or more; got {every!r}.")
        made = self._declared(outputs, (self.plan.source.time.name, *names))
        time = self.plan.source.time
        frozen(initial)
        return self._then(Stateful(time, names, _function(update, "update"), initial, made, every))

    def flat_map(self, function: Callable[[Any], Any], *, outputs: Columns) -> OptimisticStream:
        """Replace each row by any number of rows with the same time.

        See `latecomer.operators.optimistic.flat_map`, and for what a function is given and may
        return `latecomer.operators.optimistic.functions`.

        Args:
            function: A function of a row that returns rows, always the same for the same row.
            outputs: The columns of the output, in Spark SQL. The time is added before them.

        Raises:
            OptionError: `function` is not a function.
            ColumnTypeError: The outputs cannot be read.
            ColumnNameError: Two columns would have one name.
        """
        made = self._declared(outputs, (self.plan.source.time.name,))
        return self._then(FlatMap(self.plan.source.time, _function(function, "function"), made))

    def grouping(self, n: int, *, key: Key = None) -> OptimisticStream:
        """Replace each row by `items`, the list of the last `n` rows of its key including itself.

        See `latecomer.operators.optimistic.grouping`.

        Args:
            n: The length of a list; it is shorter for the first rows of a key.
            key: As for `stateful`.

        Raises:
            OptionError: `n` is not a positive integer.
            ColumnNotFoundError: A column of the key does not exist.
            ColumnTypeError: A column of the key is nested.
            ColumnNameError: A column of the key has the name of the lists.
        """
        names = self._key(key)
        if not _is_count(n):
            raise OptionError(f"a group must have 1 row or more; got {n!r}.")
        if ITEMS in map(str.lower, (self.plan.source.time.name, *names)):
            raise ColumnNameError(
                f'a column of the key or the time is named "{ITEMS}", like the column of lists.\n'
                "Hint: rename it."
            )
        return self._then(Grouping(self.plan.source.time, names, n))

    def barrier(self, *, wait: Duration | None = None) -> CorrectedStream:
        """Hold results until they are final, and release them in order.

        See `operators.optimistic.barrier`. Rows are in order within a bucket, and never go back
        between micro-batches.

        Args:
            wait: How long to wait for late rows, unless it was given to `optimistic`.

        Raises:
            DurationError: The wait is missing, negative, unreadable, or another one was given.
        """
        return self._ended(Barrier(self.plan.source.time), wait)

    def changelog(self, *, wait: Duration | None = None) -> CorrectedStream:
        """Return results at once, and delete those that turn out to be wrong.

        See `operators.optimistic.changelog`. The column `_change_type` is "insert" or "delete",
        and `_change_number` is the order of changes within a micro-batch.

        Args:
            wait: How long to wait for late rows, unless it was given to `optimistic`. Results
                before that are final, and are no longer held.

        Raises:
            DurationError: The wait is missing, negative, unreadable, or another one was given.
            ColumnNameError: The stream already has a column of that name.
        """
        for name in (CHANGE_TYPE, CHANGE_NUMBER):
            if name in map(str.lower, self._schema().names):
                message = f'the stream already has a column "{name}".\nHint: rename it first.'
                raise ColumnNameError(message)
        return self._ended(Changelog(), wait)

    def changelog_df(self, *, wait: Duration | None = None) -> DataFrame:
        """Return the changelog as a DataFrame; see `changelog`."""
        return self.changelog(wait=wait).to_df()

    def explain(self) -> str:
        """Return a description of the query so far; see `OrderedStream.explain`."""
        known = explained(self.plan, arrow_schema(self.df))
        return f"{known}\n  next: barrier() for final rows, or changelog() for corrections"

    def _key(self, key: Key) -> tuple[str, ...]:
        source = self.plan.source
        found = source.key if key is None else ((key,) if isinstance(key, str) else tuple(key))
        check_columns(shown(self._schema()), found)
        return tuple(dict.fromkeys(found))

    def _schema(self) -> pa.Schema:
        return self.plan.output_schema(arrow_schema(self.df))

    def _declared(self, outputs: Columns, before: tuple[str, ...]) -> pa.Schema:
        made = declared(outputs)
        taken = {name.lower() for name in (*before, CHANGE_TYPE, CHANGE_NUMBER)}
        for name in made.names:
            if name.lower() in taken or is_hidden(name):
                raise ColumnNameError(
                    f'outputs names a column "{name}", which the result has already.\n'
                    f"Hint: rename it, or leave it out: the time and the key ({', '.join(before)}) "
                    "are added to what the function returns."
                )
            taken.add(name.lower())
        return made

    def _then(self, operator: Optimistic) -> OptimisticStream:
        plan = self.plan
        # Every optimistic stream begins with this operator.
        first = cast("Enter", plan.first)
        is_first = len(plan.stages) == len(plan.stages[0].operators) == 1
        if is_first and operator.keyed is not None:
            # Rows are numbered where they are needed first.
            key = operator.keyed
            plan = replace(plan, stages=(Stage(key, (replace(first, key=key),)),))
        return replace(self, plan=placement.then_optimistic(plan, operator))

    def _ended(self, operator: Optimistic, wait: Duration | None) -> CorrectedStream:
        known = self.plan.clock.waits
        given = known if wait is None else (parse_duration(wait, "wait"),)
        if not given:
            raise DurationError(
                "the wait is missing: how long to wait for late rows.\n"
                'Hint: for example optimistic(wait="10 minutes").'
            )
        if known and given != known:
            raise DurationError(
                f"optimistic() was given a wait of {format_duration(known[0])}, and this step "
                f"{format_duration(given[0])}; there is only one watermark.\n"
                "Hint: leave one of them out."
            )
        plan = placement.then_optimistic(
            replace(self.plan, clock=replace(self.plan.clock, waits=given)), operator
        )
        return CorrectedStream((self.df,), plan, self.buckets)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 1


def _function(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    if not callable(function):
        raise OptionError(f"{name} must be a function; got {function!r}.")
    return function

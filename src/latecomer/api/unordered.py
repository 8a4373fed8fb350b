"""Rows in order of arrival, and their operators before any wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from latecomer.clock.policy import ClockByRecall, ClockBySource, ClockPerKey, ClockPolicy, OneClock
from latecomer.errors import OptionError, StepError
from latecomer.hosts.spark.checks import check_source
from latecomer.hosts.spark.columns import expression, selected, with_copy, with_elements, with_first
from latecomer.hosts.spark.inputs import with_promise
from latecomer.operators.base import ORIGINAL_TIME
from latecomer.plan import LatePolicy, Plan, Source, Stage

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


_KNOWN = "_lc_known"
"""Column with the time at which a beginning or an end is known, if these are separate rows."""


@dataclass(frozen=True, slots=True)
class Unordered:
    """Rows in order of arrival, with the operations that do not depend on order."""

    df: DataFrame
    source: Source
    clock: tuple[str, ...] = ()
    """Columns whose values each have a clock of their own; empty if there is one clock for all."""
    idle: int | None = None
    """Silence after which the clock advances by itself, in microseconds."""
    sources: tuple[str, ...] = ()
    """Columns that name the source of a row; the slowest source sets the clock."""
    promise: Any = None
    """Boolean expression that is true for a row if no earlier row will follow from its source."""

    def where(self, condition: str | Column) -> Self:
        """Keep the rows that meet a condition, in Spark SQL or as a Column."""
        return self._with(self.df.where(condition))

    def select(self, *columns: str | Column) -> Self:
        """Keep these columns, or expressions in Spark SQL; time, key and arrival must be kept."""
        return self._with(selected(self.df, columns))

    def with_columns(self, **columns: str | Column) -> Self:
        """Add or replace columns, each by an expression in Spark SQL or a Column."""
        return self._with(
            self.df.withColumns({name: expression(value) for name, value in columns.items()})
        )

    def select_many(self, **items: str | Column) -> Self:
        """Make a row of each element of a list: `select_many(item="items")`.

        The list is an expression in Spark SQL or a Column, and its elements go to a new column. All
        other columns, time and key too, are copied from the row. A row whose list is empty or null
        stays one row with a null, so that no row is lost. An element has the time of its row, so
        doing this before the sort changes nothing.

        Raises:
            OptionError: There is not exactly one list.
            ColumnTypeError: The expression is not a list.
        """
        if len(items) != 1:
            raise OptionError(
                f"select_many takes one list at a time; got {len(items)}.\n"
                'Hint: select_many(item="items"), or select_many(pair="arrays_zip(a, b)").'
            )
        ((name, value),) = items.items()
        return self._with(with_elements(self.df, name, value))

    def explain(self) -> str:
        """Return a description of the stream so far: its rows and its time column."""
        known = [f'rows by "{self.source.time.name}", in order of arrival']
        if self.source.key:
            known.append(f"  key: {', '.join(self.source.key)}")
        if self.clock:
            known.append(f"  a clock for each {', '.join(self.clock)}")
        if self.sources:
            known.append(f"  the clock of the slowest {', '.join(self.sources)}")
        known.append("  Spark SQL computes filters and columns of single rows")
        return "\n".join([*known, f"  next: {self._missing}"])

    @property
    def _missing(self) -> str:
        """Hint that names the step that has to come next."""
        return 'put the rows in order with sort(wait=...), or into windows with tumbling("1 hour")'

    if not TYPE_CHECKING:
        # Hidden from type checkers, which would otherwise accept any method of a stream.
        def __getattr__(self, name: str) -> object:
            """Raise an error that names the step that has to come first."""
            if name.startswith("_"):
                raise AttributeError(name)
            raise StepError(f"{type(self).__name__} has no {name}.\nHint: {self._missing}.")

    def _planned(
        self,
        waits: Mapping[int, str],
        recalls: tuple[float, ...],
        within: int | None,
        late: LatePolicy,
    ) -> tuple[DataFrame, Plan]:
        """Return the rows, and a plan for them without operators."""
        source, df = self.source, self.df
        if late == "adjust":
            df = with_copy(df, ORIGINAL_TIME, source.time.name)
        if source.begin is not None and source.end is not None:
            # A beginning is known at its time, and an end at the end.
            df = with_first(df, _KNOWN, (source.end.name, source.begin.name))
            source = replace(source, time=replace(source.time, name=_KNOWN))
        df, promise, text = self._promising(df, waits, recalls)
        kind: type[ClockPolicy] = OneClock
        if recalls:
            kind = ClockByRecall
        elif self.clock:
            kind = ClockPerKey
        elif self.sources or promise is not None:
            kind = ClockBySource
        policy = kind(
            tuple(waits),
            self.idle,
            self.clock,
            promise,
            text,
            sources=self.sources,
            recalls=recalls,
            within=within,
            texts=tuple(waits.values()),
        )
        return df, Plan(source, policy, late, (Stage(self.clock or source.key),))

    def _promising(
        self, df: DataFrame, waits: Mapping[int, str], recalls: Sequence[float]
    ) -> tuple[DataFrame, str | None, str]:
        """Return the rows with a column of promises, the name of that column, and its text."""
        if recalls and (self.sources or self.promise is not None):
            raise OptionError(
                "recall= cannot be combined with sources= or promise=: a recall chooses the wait "
                "by the newest row of all.\n"
                "Hint: leave out sources= and promise= in disordered, or use a wait."
            )
        if self.promise is None:
            return df, None, ""
        if len(waits) > 1:
            raise OptionError(
                "promise= cannot be combined with several waits, because a promise would end all "
                "of them at once.\n"
                "Hint: give one wait, or leave out promise= in disordered."
            )
        return with_promise(df, self.promise)

    def _with(self, df: DataFrame) -> Self:
        check_source(df, self.source, (*self.clock, *self.sources))
        return replace(self, df=df)

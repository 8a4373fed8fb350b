"""Rows in windows, before and after the wait is set; thin.

    events.tumbling("1 hour")                         DisorderedWindows
      .wait(["5 minutes", "6 hours"])                 WindowedStream
      .group_by("origin")                             GroupedStream
      .aggregate(flights=lc.agg.count())              AggregatedStream: one row per window and key

Nothing is sorted: the window of a row does not depend on the rows before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from latecomer.api.aggregated import AggregatedStream, GroupedStream
from latecomer.api.arguments import check_choice
from latecomer.api.deprecated import renamed
from latecomer.api.unordered import Unordered
from latecomer.api.waiting import check_buckets, read_recalls, read_waits, read_within
from latecomer.errors import OptionError, StepError
from latecomer.hosts.spark.columns import arrow_schema
from latecomer.operators.aggregates.base import Aggregate
from latecomer.operators.aggregates.custom import UserAggregate
from latecomer.operators.windows.grid import Lifetime, Windows
from latecomer.plan import LATE_POLICIES, LatePolicy, Plan
from latecomer.plan.explain import explained
from latecomer.time import Duration, format_duration, parse_duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class DisorderedWindows(Unordered):
    """Rows in order of arrival, and the windows that they are in."""

    windows: Windows | Lifetime = field(kw_only=True)

    def wait(  # noqa: PLR0913 - each argument is one thing that a user says about waiting
        self,
        wait: Duration | Sequence[Duration] | None = None,
        *,
        recall: float | Sequence[float] | None = None,
        within: Duration | None = None,
        late: LatePolicy | Literal["fold"] = "divert",
        horizon: Duration | None = None,
        buckets: int | None = None,
        only_changes: bool = False,
    ) -> WindowedStream:
        """Set how long windows wait for late rows.

        Args:
            wait: For example "10 minutes": a window `[a, b)` is answered once an earlier
                micro-batch had a row at `b` plus 10 minutes or later. With a list of waits there is
                one answer after each wait; the longest wait decides which rows are late.
            recall: Instead of a wait, the share of the rows that should be in time for their
                windows, for example 0.999; see `DisorderedStream.sort`.
            within: The length of the periods that should each have the recall, for example
                "1 hour"; see `DisorderedStream.sort`.
            late: What to do with late rows; see `DisorderedStream.sort`. With "fold", rows that
                come after the last wait correct the answers of their windows: each changed answer
                is given once more, with `is_correction`, in the micro-batch in which they come.
            horizon: With late="fold", how far behind the newest row a row may be and still correct
                an answer, for example "7 days"; with a recall, how far behind the watermark. States
                are held for that long. Later rows go to the late output.
            buckets: Number of buckets for the keys; see `DisorderedStream.sort`.
            only_changes: With several waits, leave out answers that equal the answer of the wait
                before.

        Raises:
            DurationError: The wait is missing, negative or unreadable.
            OptionError: The late policy is unknown, or the recall is not a share, or cannot be
                combined with another option.
        """
        recalls = read_recalls(recall, wait, self.clock)
        waits = {} if recalls else read_waits(wait)
        check_choice("late", late, (*LATE_POLICIES, "fold"))
        check_buckets(buckets)
        corrected = self._horizon(horizon, late, tuple(waits))
        if only_changes and not (len(waits) > 1 and isinstance(self.windows, Windows)):
            raise OptionError(
                "only_changes=True needs tumbling or hopping windows with several waits.\n"
                'Hint: for example tumbling("1 hour").wait(["1 minute", "1 hour"], ...).'
            )
        policy: LatePolicy = "divert" if late == "fold" else late
        df, plan = self._planned(waits, recalls, read_within(within, recalls), policy)
        if corrected is not None and plan.clock.promise is not None:
            raise OptionError(
                'late="fold" cannot be combined with promise=.\nHint: leave out promise=.'
            )
        plan = replace(plan, clock=replace(plan.clock, horizon=corrected))
        return WindowedStream(df, plan, buckets, self.windows, only_changes)

    def sort(
        self,
        *,
        wait: Duration | Sequence[Duration] | None = None,
        recall: float | Sequence[float] | None = None,
        late: LatePolicy = "divert",
        buckets: int | None = None,
        only_changes: bool = False,
    ) -> WindowedStream:
        """Do the same as `wait`; the deprecated name."""
        renamed("sort(wait=...) after tumbling, hopping or lifetime", "wait(...)")
        return self.wait(wait, recall=recall, late=late, buckets=buckets, only_changes=only_changes)

    def _horizon(self, horizon: Duration | None, late: str, waits: tuple[int, ...]) -> int | None:
        """Return the time for which late rows correct answers; None if they do not."""
        if late != "fold":
            if horizon is not None:
                raise OptionError(
                    'horizon= is only for late="fold".\nHint: leave it out, or use late="fold".'
                )
            return None
        if not isinstance(self.windows, Windows):
            raise OptionError(
                'late="fold" is for tumbling and hopping windows: with lifetime() a late row '
                "changes where answers begin and end, so there is no answer for it to correct.\n"
                'Hint: use tumbling or hopping, or late="divert".'
            )
        micros = None if horizon is None else parse_duration(horizon, "horizon")
        longest = waits[-1] if waits else 0
        if micros is None or micros <= longest:
            raise OptionError(
                'late="fold" needs a horizon that is longer than the longest wait, '
                f"{format_duration(longest)}; got {horizon!r}.\n"
                'Hint: for example wait("10 minutes", late="fold", horizon="7 days").'
            )
        return micros

    @property
    def _missing(self) -> str:
        """Hint that names the step that has to come next."""
        return 'say how long windows wait for late rows first, with wait("10 minutes")'


@dataclass(frozen=True, slots=True)
class WindowedStream:
    """Rows in windows, answered after each wait. Call `group_by` or `aggregate` next."""

    df: DataFrame
    plan: Plan
    buckets: int | None
    windows: Windows | Lifetime
    only_changes: bool = False

    def group_by(self, *columns: str) -> GroupedStream:
        """Group rows by windows and columns. Without columns, each window is one group."""
        return GroupedStream(self, columns)

    def aggregate(self, **aggregates: Aggregate | UserAggregate) -> AggregatedStream:
        """Return one row for each window, with aggregates of all its rows.

        Args:
            aggregates: As for `GroupedStream.aggregate`.
        """
        return self.group_by().aggregate(**aggregates)

    def apply(
        self,
        *,
        partial: Callable[[WindowedStream], AggregatedStream],
        merge: Callable[[AggregatedStream], AggregatedStream],
    ) -> AggregatedStream:
        """Compute each window by a query of your own that has two parts.

        `partial` runs on the rows of each micro-batch, and its results are held. When a window
        closes, `merge` runs on all of its partial results. Each row is processed once.

        Args:
            partial: Aggregates rows once, for example
                `lambda rows: rows.group_by("ad").aggregate(clicks=lc.agg.count())`.
            merge: Aggregates the partial results, in one step or several, for example
                `lambda parts: parts.group_by("ad").aggregate(clicks=lc.agg.sum("clicks"))`.

        Raises:
            OptionError: One of them is not such an aggregation.
        """
        parts = partial(self)
        if len(parts.aggregation.summaries) != 1:
            raise OptionError(
                "partial must aggregate the rows once.\n"
                'Hint: for example lambda rows: rows.group_by("ad").aggregate(n=agg.count()).'
            )
        merged = merge(parts)
        if len(merged.aggregation.summaries) == 1:
            raise OptionError(
                "merge must aggregate the results of partial.\n"
                'Hint: for example lambda parts: parts.group_by("ad").aggregate(n=agg.sum("n")).'
            )
        return merged.changed(replace(merged.aggregation, merges=True))

    def explain(self) -> str:
        """Return a description of the query so far."""
        return f"{explained(self.plan, arrow_schema(self.df))}\n  next: {_NEXT}"

    if not TYPE_CHECKING:
        # Hidden from type checkers, which would otherwise accept any method of a stream.
        def __getattr__(self, name: str) -> object:
            """Raise an error that names the step that has to come first."""
            if name.startswith("_"):
                raise AttributeError(name)
            raise StepError(
                f"WindowedStream has no {name}: its windows are not aggregated yet.\nHint: {_NEXT}"
            )


_NEXT = "go on with aggregate(...) or group_by(...), or leave the windows out for rows in order."

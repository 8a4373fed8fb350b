"""Matches of a pattern: the result of `OrderedStream.detect`; thin, like all streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

from latecomer.api.arguments import check_choice, check_one_wait, clashing, specified
from latecomer.api.lifetimes import WithLifetimes
from latecomer.api.pattern import Pattern
from latecomer.api.readable import Readable
from latecomer.api.temporal import TemporalStream
from latecomer.errors import ColumnNameError, OptionError, PatternError
from latecomer.hosts.spark import inputs
from latecomer.operators.aggregates.base import Aggregate
from latecomer.operators.aggregates.custom import UserAggregate
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.levels import IS_FINAL, WAIT, once_per_wait
from latecomer.operators.patterns.automaton import Automaton
from latecomer.operators.patterns.detect import END, START, Detect
from latecomer.operators.temporal.lifetimes import Lifetimes
from latecomer.plan import Plan, placement
from latecomer.time import Duration, TimeColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


Contiguity = Literal["skip", "strict"]
CONTIGUITIES: tuple[Contiguity, ...] = get_args(Contiguity)


@dataclass(frozen=True, slots=True)
class MatchedStream(Readable, WithLifetimes):
    """One row per match: `start`, `end`, the key, and a column for each event of the pattern.

    An event is a struct, or a list of structs if it may occur more than once. With several waits
    there are also `wait` and `is_final`, which is true for the last wait.
    """

    before: Plan = field(kw_only=True)
    """The plan of the ordered rows in which matches are found."""
    detect: Detect = field(kw_only=True)

    def aggregate(self, *events: str, **aggregates: Aggregate | UserAggregate) -> MatchedStream:
        """Return aggregates of the rows of each match, instead of the rows themselves.

        If a match has no such row, a count is 0 and most other aggregates are null. Call it again
        for aggregates of other events; earlier results stay.

        Args:
            events: The events whose rows are aggregated; by default all.
            aggregates: The results by name, made with `latecomer.agg`.

        Raises:
            PatternError: The pattern has no such event.
            ColumnNameError: A result has the name of another column.
        """
        detect = self.detect
        known = [event.name for event in detect.automaton.events]
        for name in events:
            if name not in known:
                raise PatternError(
                    f'the pattern has no event "{name}"; it has {", ".join(known)}.\n'
                    "Hint: use names of events of the pattern, or no name for all rows."
                )
        rows = self.before.output_schema(self._columns)
        df, computed = inputs.with_inputs(self.df, specified(aggregates), rows.names)
        summaries = (*detect.summaries, (events, Summary((), tuple(computed.items()))))
        names = [name for _, each in summaries for name, _ in each.aggregates]
        _check_names(names, detect.keys)
        return _found(df, self, replace(detect, summaries=summaries))

    def temporal(self) -> TemporalStream:
        """Let each match count from its first row to its end, or for an instant if it has one row.

        Later operators wait as long as a match may last, until no match can begin earlier.
        """
        check_one_wait(self.plan.clock)
        detect = self.detect
        start, end = (TimeColumn(name, detect.time.unit) for name in (START, END))
        lifetimes = Lifetimes(start, end, detect.lasting)
        stream = TemporalStream(self.dfs, placement.then(self.plan, lifetimes), self.buckets)
        stream.schema()
        return stream

    @classmethod
    def over(
        cls,
        rows: Readable,
        pattern: Pattern,
        *,
        within: Duration | None,
        by: str | Sequence[str] | None,
        contiguity: Contiguity,
        overlap: bool,
    ) -> MatchedStream:
        """Look for a pattern in ordered rows; see `OrderedStream.detect`."""
        source = rows.plan.source
        keys = source.key if by is None else ((by,) if isinstance(by, str) else tuple(by))
        check_choice("contiguity", contiguity, CONTIGUITIES)
        if source.begin is not None:
            raise OptionError(
                "patterns match whole rows, and with edges=True each row is a begin or an end.\n"
                "Hint: leave out edges=True, and match begins and ends by conditions."
            )
        automaton, span = _read(pattern, within)
        inputs.check_keys(rows.df, keys)
        df, automaton = inputs.with_conditions(rows.df, automaton)
        _check_names([event.name for event in automaton.events], keys)
        detect = Detect(
            source.time,
            keys,
            automaton,
            span,
            is_strict=contiguity == "strict",
            may_overlap=overlap,
            silence=pattern.silence,
        )
        stream = cls((df,), rows.plan, rows.buckets, before=rows.plan, detect=detect)
        return _found(df, stream, detect)


def _found(df: DataFrame, stream: MatchedStream, detect: Detect) -> MatchedStream:
    """Return the stream of matches that `detect` finds in the rows of a stream."""
    plan = placement.then(stream.before, detect)
    stage = plan.stages[-1]
    plan = plan.with_last(replace(stage, operators=once_per_wait(stage.operators)))
    found = replace(stream, dfs=(df,), plan=plan, detect=detect)
    found._ready_schema()  # noqa: SLF001 - a stream, too
    return found


def _read(pattern: Pattern, within: Duration | None) -> tuple[Automaton, int]:
    """Return the automaton of a pattern, and the longest time from first to last row of a match."""
    if not isinstance(pattern, Pattern):
        raise PatternError(
            f"detect needs a pattern; got {pattern!r}.\n"
            'Hint: latecomer.event("a", "price > 10").then("b", "price < 5").'
        )
    if within is not None:
        pattern = pattern.within(within)
    automaton = pattern.automaton()
    if not automaton.arcs:
        # A match is a single row, so no `within` is needed.
        return automaton, pattern.span or 0
    if pattern.span is None:
        raise PatternError(
            "detect needs within=, the longest time that a match may take; without it, rows would "
            "be held for ever.\n"
            'Hint: detect(pattern, within="1 minute").'
        )
    return automaton, pattern.span


_TAKEN = (START, END, WAIT, IS_FINAL)


def _check_names(events: Sequence[str], keys: Sequence[str]) -> None:
    """Refuse columns that would have the name of another."""
    if name := clashing([*events, *keys], _TAKEN):
        raise ColumnNameError(
            f'an event, key or result cannot be named "{name}", because another column has '
            "that name.\n"
            f"Hint: choose another name. Latecomer itself uses {', '.join(_TAKEN)}."
        )

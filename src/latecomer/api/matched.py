"""Matches of a pattern: what `OrderedStream.detect` gives; thin, as all streams are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from latecomer.api.pattern import Pattern
from latecomer.api.readable import Readable
from latecomer.errors import ColumnNameError, OptionError, PatternError
from latecomer.operators.levels import IS_FINAL, WAIT, once_per_wait
from latecomer.operators.patterns.detect import END, START, Detect
from latecomer.plan import placement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.operators.patterns.automaton import Automaton
    from latecomer.time import Duration

Contiguity = Literal["skip", "strict"]
CONTIGUITIES: tuple[Contiguity, ...] = get_args(Contiguity)


@dataclass(frozen=True, slots=True)
class MatchedStream(Readable):
    """One row per match: `start`, `end`, the key, and a column for each event of the pattern.

    An event is a struct, or a list of them if it may come more than once. With several waits also
    `wait`, after which the match was found, and `is_final`, whether that is the last one.
    """

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
        from latecomer.hosts.spark import inputs

        source = rows.plan.source
        keys = source.key if by is None else ((by,) if isinstance(by, str) else tuple(by))
        if contiguity not in CONTIGUITIES:
            given = ", ".join(CONTIGUITIES)
            raise OptionError(f"contiguity cannot be {contiguity!r}.\nHint: use one of {given}.")
        if source.begin is not None:
            raise OptionError(
                "with edges=True a row is a begin or an end, and a pattern is of whole rows.\n"
                "Hint: leave out edges=True, and name begins and ends by their conditions."
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
        plan = placement.then(rows.plan, detect)
        stage = plan.stages[-1]
        plan = plan.with_last(replace(stage, operators=once_per_wait(stage.operators)))
        stream = cls((df,), plan, rows.buckets)
        stream._ready_schema()
        return stream


def _read(pattern: Pattern, within: Duration | None) -> tuple[Automaton, int]:
    """Return what to look for, and how long a match may last from its first row to its last."""
    if not isinstance(pattern, Pattern):
        raise PatternError(
            f"detect needs a pattern; got {pattern!r}.\n"
            'Hint: latecomer.event("a", "price > 10").then("b", "price < 5").'
        )
    if within is not None:
        pattern = pattern.within(within)
    automaton = pattern.automaton()
    if not automaton.arcs:
        # A match is one row.
        return automaton, pattern.span or 0
    if pattern.span is None:
        raise PatternError(
            "detect needs to know how long a match may last; without an end, rows would be held "
            'for ever.\nHint: detect(pattern, within="1 minute").'
        )
    return automaton, pattern.span


_TAKEN = (START, END, WAIT, IS_FINAL)


def _check_names(events: Sequence[str], keys: Sequence[str]) -> None:
    """Refuse columns that would have the name of another."""
    # Spark does not mind the case of a name.
    names = [*events, *keys]
    lower = [name.lower() for name in names]
    wrong = [
        name
        for name, low in zip(names, lower, strict=True)
        if low in _TAKEN or low.startswith("_lc_") or lower.count(low) > 1
    ]
    if wrong:
        raise ColumnNameError(
            f'an event or key cannot be named "{wrong[0]}", which another column is.\n'
            f"Hint: names {', '.join(_TAKEN)} are given by Latecomer; choose others."
        )

"""Conditions on earlier events of a match, as ordinary Python functions.

    event("a", "kind = 'buy'").then("b", "kind = 'sell'", where=lambda row, a: row.price > a.price)

The first argument is the row that may be the event. Each other argument is named after an event and
is the row of that event, or None if it has not come. For an event that may come more than once it
is the list of its rows so far. Arguments with a default are not passed. A row is a named tuple of
the columns of the stream. A row that must be absent after a match is tested in the same way.

Times and durations are integers, as Arrow holds them: microseconds, or days for dates. A function
that uses only numbers, booleans and times, none of them null, is compiled together with the
automaton, once there are enough rows to be worth it. Any other function is called row by row, with
None for null, and so is a function that may be passed None for an event. A compiled function
returns what the called one returns (`operators.temporal.exact`).
"""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from latecomer.batch import Batch, Positions
from latecomer.errors import PatternError, listed
from latecomer.operators.patterns.automaton import Automaton
from latecomer.operators.temporal.conditions import Same, numbers_of, values_of

if TYPE_CHECKING:
    from latecomer.kernels.automaton import Attempts, Holds, Machine, Rows, Steps


@dataclass(frozen=True, slots=True)
class Argument:
    """An earlier event that is passed to a function."""

    event: int
    is_repeated: bool
    may_be_missing: bool


def arguments_of(automaton: Automaton, number: int) -> tuple[Argument, ...]:
    """Return the events that are passed to the function of an event, after the row.

    Raises:
        PatternError: The function asks for an event that the pattern does not have.
    """
    numbers = {each.name: at for at, each in enumerate(automaton.events)}
    names = [*(f'event "{name}"' for name in numbers), "then_none"]
    found = []
    for name in _names(names[number], automaton.functions[number]):
        if name not in numbers:
            raise PatternError(
                f'the function of {names[number]} asks for "{name}"; the events are '
                f"{listed(numbers)}.\n"
                "Hint: its first argument is the row, the others are named after events."
            )
        is_repeated = numbers[name] in automaton.repeated
        is_sure = is_repeated or automaton.is_before(numbers[name], number)
        found.append(Argument(numbers[name], is_repeated, not is_sure))
    return tuple(found)


def _names(of: str, function: Callable[..., bool] | None) -> list[str]:
    if function is None:
        return []
    parameters = inspect.signature(function).parameters.values()
    names = [each.name for each in parameters if each.default is each.empty]
    if not names:
        raise PatternError(
            f"the function of {of} takes no arguments.\n"
            "Hint: its first argument is the row, the others are named after events."
        )
    return names[1:]


COMPILED_FROM = 50_000
"""Number of rows, in all batches together, that are worth the seconds that compiling takes in each
worker."""

Told = tuple["Steps", "Attempts", "Positions"]


class Question:
    """All conditions on rows and earlier events."""

    def __init__(self, automaton: Automaton) -> None:
        self._asked = {
            number: (function, arguments_of(automaton, number))
            for number, function in enumerate(automaton.functions)
            if function is not None
        }
        self._event_of = automaton.event_of
        # Functions that can perhaps be compiled.
        self._sames = tuple(
            (number, Same(function), given)
            for number, (function, given) in self._asked.items()
            if isinstance(function, FunctionType) and not any(each.may_be_missing for each in given)
        )

    def advance(
        self, machine: Machine, rows: Rows, attempts: Attempts, steps: Steps, table: Batch
    ) -> Told:
        """Run an automaton over rows, which are some of the rows of a table."""
        from numba.core.errors import NumbaError

        from latecomer.kernels.automaton import advance, advance_rows

        if not self._asked:
            return advance(machine, rows, attempts, steps, None, ())
        if len(self._sames) == len(self._asked):
            columns = numbers_of(table)
            compiled = _compiled(self._sames, tuple(columns), self._event_of)
            compiled.rows += len(rows.number)
            if compiled.is_possible and compiled.rows >= COMPILED_FROM:
                values = tuple(columns.values())
                try:
                    return compiled.loop(machine, rows, attempts, steps, compiled.holds, values)
                except NumbaError:
                    compiled.is_possible = False
                except Exception:  # noqa: BLE001, S110 - the call below raises it
                    pass
        return advance_rows(machine, rows, attempts, steps, self._called, _named(table))

    def _called(  # noqa: PLR0913, PLR0917 - as the kernel calls it
        self,
        table: list[Any],
        row: Positions,
        state: Positions,
        before: Positions,
        last: int,
        number: int,
        event: int,
    ) -> bool:
        """Return the answer of the function of an event."""
        function, arguments = self._asked[event]
        taken: dict[int, list[Any]] = {each.event: [] for each in arguments}
        while last >= 0:
            if (own := self._event_of[state[last]]) in taken:
                taken[own].insert(0, table[row[last]])
            last = before[last]
        given = (
            taken[each.event]
            if each.is_repeated
            else (taken[each.event][0] if taken[each.event] else None)
            for each in arguments
        )
        return bool(function(table[number], *given))


def _named(table: Batch) -> list[Any]:
    names = namedtuple("Row", table.column_names, rename=True)  # type: ignore[misc]

    class Row(names):
        """Columns by name only: a compiled row has only some of them, at other places."""

        __slots__ = ()

        def __getitem__(self, place: object) -> NoReturn:
            raise PatternError(
                f"a condition reads column {place!r} of a row by its position.\n"
                f"Hint: read it by name; the columns are {', '.join(self._fields)}."
            )

    return [Row(*values) for values in zip(*map(values_of, table.columns), strict=True)]


Asked = tuple[tuple[int, Same, tuple[Argument, ...]], ...]


@dataclass(slots=True)
class Compiled:
    """The compiled automaton, and the function that it calls to test the conditions of events."""

    loop: Callable[..., Told]
    holds: Holds
    rows: int = 0
    """Number of rows so far."""
    is_possible: bool = True
    """Whether the functions may compile. False once they did not: another attempt takes long."""


@lru_cache(maxsize=64)
def _compiled(asked: Asked, names: tuple[str, ...], event_of: tuple[int, ...]) -> Compiled:
    from numba import njit

    from latecomer.kernels.automaton import advance_rows, rows_of
    from latecomer.operators.temporal import exact

    row = f"Row({', '.join(f'columns[{at}][ROW]' for at in range(len(names)))})"
    lines = ["def holds(columns, row, state, before, last, number, event):"]
    scope: dict[str, Any] = {"Row": namedtuple("Row", names, rename=True), "rows_of": rows_of}
    scope["event_of"] = np.array(event_of, np.int64)
    for number, same, arguments in asked:
        scope[f"function_{number}"] = exact.compiled(same.function)
        given = [row.replace("ROW", "number")]
        lines.append(f"    if event == {number}:")
        for at, each in enumerate(arguments):
            taken = f"taken_{at}"
            steps = "row, state, before, last, event_of"
            lines.append(f"        {taken} = rows_of({steps}, {each.event})")
            one = row.replace("ROW", "i" if each.is_repeated else f"{taken}[0]")
            given.append(f"[{one} for i in {taken}]" if each.is_repeated else one)
        lines.append(f"        return bool(function_{number}({', '.join(given)}))")
    lines.append("    return True")
    exec("\n".join(lines), scope)  # noqa: S102 - numba needs a function that names each column
    return Compiled(njit(nogil=True)(advance_rows), njit(nogil=True)(scope["holds"]))

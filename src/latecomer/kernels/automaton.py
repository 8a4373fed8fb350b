"""Run an automaton over rows, for all keys at once.

An *attempt* is a partial match. The rows that it has taken are a chain of *steps*, each linked to
the one before. Attempts that branch share the steps up to the branch:

    pattern   a then b or c       steps   a ◀─ b       matches   a b
    rows      a, and one that             ▲                      a c
              is both b and c             └─── c

A pattern may require that no row of some kind follows a match for a while. A complete attempt then
*waits*: its `closed` is `WAITING`, and its `began` is the time at which it becomes a match, unless
such a row comes before.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from latecomer.batch import Mask, Positions
from latecomer.errors import PatternError
from latecomer.kernels.jit import kernel
from latecomer.time import Times

TOO_MANY = (
    "more matches of one key are under way than can be held.\n"
    "Hint: use a shorter within=, conditions of which a row meets only one, or overlap=False."
)


WAITING = -1


class Machine(NamedTuple):
    """An automaton, as arrays; see `latecomer.operators.patterns.automaton`."""

    bounds: Positions
    """The arcs of state s are those from `bounds[s]` to before `bounds[s + 1]`. The entry after the
    last state is the beginning, with arcs to the states that a match may begin with. Among arcs to
    states of one event, the first open one is taken."""
    to: Positions
    guards: Positions
    """Bit of the guard of each arc; 0 if it has none."""
    is_last: Mask
    event: Positions
    """Event of each state."""
    asks: Mask
    """Whether each event has a condition on earlier ones, which `holds` evaluates. The entry after
    the last event is for the row that must be absent."""
    within: int
    is_strict: bool
    may_overlap: bool
    most: int
    """Largest number of attempts of one key."""
    silence: int
    """Time after a match in which no row may meet `absent`; 0 if it is complete at once."""
    absent: int
    """Bit of the guard that rows after a match must not meet."""


class Rows(NamedTuple):
    """Rows, group by group, and in time order within each group."""

    bounds: Positions
    """The rows of group g are those from `bounds[g]` to before `bounds[g + 1]`."""
    number: Positions
    """Number by which the caller identifies each row."""
    time: Times
    met: Positions
    """A bit for each event whose condition the row meets."""
    guards: Positions
    """A bit for each guard whose condition the row meets."""


class Attempts(NamedTuple):
    """Partial matches, group by group."""

    bounds: Positions
    step: Positions
    """Last step of each attempt."""
    began: Times
    closed: Positions
    """A bit for each guard whose condition has been met since the last step."""


class Steps(NamedTuple):
    """Rows that attempts have taken."""

    row: Positions
    state: Positions
    before: Positions
    """Step before each; -1 if it is the first."""


Holds = Callable[[Any, Positions, Positions, Positions, int, int, int], bool]
"""Condition on a row and earlier events. Its arguments are the columns; the rows, states and
predecessors of all steps; the last step; a row; and the event that the row may be."""


def advance_rows(  # noqa: C901, PLR0912, PLR0915 - one loop, compiled with `holds` or not at all
    machine: Machine,
    rows: Rows,
    attempts: Attempts,
    steps: Steps,
    holds: Holds | None,
    columns: Any,  # noqa: ANN401 - whatever `holds` reads
) -> tuple[Steps, Attempts, Positions]:
    """Advance all attempts by new rows, one by one.

    Args:
        machine: The automaton.
        rows: The new rows.
        attempts: The attempts so far, in the same groups.
        steps: The steps of these attempts.
        holds: Evaluates conditions on an event and earlier ones; None if there are none.
        columns: The columns that `holds` reads.

    Returns:
        All steps; the attempts that remain; and the last step of each match, in order within each
        group.

    Cost: O(rows x attempts of their group).
    """
    start = len(machine.is_last)
    width = 1
    for state in range(start + 1):
        width = max(width, machine.bounds[state + 1] - machine.bounds[state])
    if machine.silence:
        width *= 2
    count = len(steps.row)
    row, states, before = steps.row.copy(), steps.state.copy(), steps.before.copy()
    matched, matches = np.empty(0, np.int64), 0
    kept = np.zeros(len(attempts.bounds), np.int64)
    step, began, closed = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    # The attempts of the current group, before a row and after it.
    now, then = np.empty((3, 0), np.int64), np.empty((3, 0), np.int64)
    for group in range(len(rows.bounds) - 1):
        first, stop = attempts.bounds[group], attempts.bounds[group + 1]
        live = stop - first
        now = wide(now, live)
        now[0, :live] = attempts.step[first:stop]
        now[1, :live] = attempts.began[first:stop]
        now[2, :live] = attempts.closed[first:stop]
        for i in range(rows.bounds[group], rows.bounds[group + 1]):
            most = (live + 1) * width
            if most > machine.most:
                raise PatternError(TOO_MANY)
            then = wide(then, most)
            row, states = grown(row, count + most), grown(states, count + most)
            before, matched = grown(before, count + most), grown(matched, matches + most)
            left, is_taken, is_busy = 0, False, False
            for attempt in range(live + 1):
                # The last one is a new attempt, which may begin with this row.
                last, since, shut, state = -1, rows.time[i], 0, start
                if attempt < live:
                    last, since, shut = now[0, attempt], now[1, attempt], now[2, attempt]
                    if shut == WAITING:
                        is_found = rows.time[i] >= since
                        stays = is_found or rows.guards[i] & machine.absent == 0
                        if holds is not None and not stays and machine.asks[-1]:
                            number, event = rows.number[i], len(machine.asks) - 1
                            stays = not holds(columns, row, states, before, last, number, event)
                        if stays:
                            then[0, left], then[1, left], then[2, left] = last, since, shut
                            left += 1
                            is_busy |= not is_found
                        continue
                    state = states[last]
                elif not machine.may_overlap and (is_busy or is_taken):
                    break
                if rows.time[i] - since > machine.within:
                    continue
                goes_on, taken = False, -1
                for arc in range(machine.bounds[state], machine.bounds[state + 1]):
                    target = machine.to[arc]
                    event = machine.event[target]
                    # Arcs to one event that differ only in their guards are adjacent.
                    if machine.guards[arc] & shut or event == taken:
                        continue
                    is_met = (rows.met[i] >> event) & 1 == 1
                    if holds is not None and is_met and machine.asks[event]:
                        number = rows.number[i]
                        is_met = holds(columns, row, states, before, last, number, event)
                    if not is_met:
                        goes_on |= machine.guards[arc] & rows.guards[i] == 0
                        continue
                    taken = event
                    row[count], states[count], before[count] = rows.number[i], target, last
                    if machine.is_last[target] and machine.silence:
                        then[0, left], then[1, left] = count, rows.time[i] + machine.silence
                        then[2, left] = WAITING
                        left += 1
                    elif machine.is_last[target]:
                        matched[matches] = count
                        matches += 1
                    if machine.bounds[target + 1] > machine.bounds[target]:
                        then[0, left], then[1, left], then[2, left] = count, since, 0
                        left += 1
                    count += 1
                is_taken |= taken >= 0
                if attempt < live and taken < 0 and goes_on and not machine.is_strict:
                    then[0, left], then[1, left] = last, since
                    then[2, left] = shut | rows.guards[i]
                    left += 1
                    is_busy = True
            now, then, live = then, now, left
        end = kept[group] + live
        step, began, closed = grown(step, end), grown(began, end), grown(closed, end)
        step[kept[group] : end] = now[0, :live]
        began[kept[group] : end] = now[1, :live]
        closed[kept[group] : end] = now[2, :live]
        kept[group + 1] = end
    total = kept[-1]
    return (
        Steps(row[:count].copy(), states[:count].copy(), before[:count].copy()),
        Attempts(kept, step[:total].copy(), began[:total].copy(), closed[:total].copy()),
        matched[:matches].copy(),
    )


@kernel
def rows_of(
    row: Positions, state: Positions, before: Positions, last: int, event: Positions, wanted: int
) -> Positions:
    """Return the rows of an event among the steps up to the last, in order.

    Args:
        row: The row of each step.
        state: The state that each step leads to.
        before: The step before each.
        last: The last step.
        event: The event of each state.
        wanted: The event whose rows to find.
    """
    length, step = 0, last
    while step >= 0:
        length += event[state[step]] == wanted
        step = before[step]
    found = np.empty(length, np.int64)
    step = last
    while step >= 0:
        if event[state[step]] == wanted:
            length -= 1
            found[length] = row[step]
        step = before[step]
    return found


@kernel
def grown(values: Positions, needed: int) -> Positions:
    """Return an array with room for `needed` values, and with those it has."""
    if needed <= len(values):
        return values
    return np.concatenate((values, np.empty(2 * needed - len(values), np.int64)))


@kernel
def wide(values: Positions, needed: int) -> Positions:
    """Return an array with room for `needed` columns; its values may be lost."""
    return values if needed <= values.shape[1] else np.empty((3, 2 * needed), np.int64)


@kernel
def reachable(before: Positions, lasts: Positions) -> Mask:
    """Return a mask of the steps in the chains that end with `lasts`."""
    is_needed = np.zeros(len(before), np.bool_)
    for last in lasts:
        is_needed[last] = True
    for step in range(len(before) - 1, -1, -1):
        if is_needed[step] and before[step] >= 0:
            is_needed[before[step]] = True
    return is_needed


@kernel
def unrolled(before: Positions, lasts: Positions) -> tuple[Positions, Positions]:
    """Return the steps of the chains that end with `lasts`, the first step first.

    Returns:
        The steps, one chain after the other; and the position in `lasts` that each belongs to.
    """
    length = 0
    for last in lasts:
        step = last
        while step >= 0:
            length += 1
            step = before[step]
    steps, owner = np.empty(length, np.int64), np.empty(length, np.int64)
    at = length
    for number in range(len(lasts) - 1, -1, -1):
        step = lasts[number]
        while step >= 0:
            at -= 1
            steps[at], owner[at] = step, number
            step = before[step]
    return steps, owner


advance = kernel(advance_rows)

"""`detect` on ordered rows: patterns are drawn as trees, and matched row by row.

From docs/patterns.md: the rows of a key are read in order of time, and rows of equal time in order
of arrival. Each row that can begin a match begins one. With `overlap=False` it does so only if no
match of its key is under way and no other match has just taken the row. A match takes the next row
that it can take, once for each way to take it. Other rows are skipped, or end the match if it is
strict. A match is reported when it is complete, even if it can continue. A pattern that ends by
absence matches unless a row that must be absent comes too soon; until then the match is under way.
With several waits, the rows of each wait are matched separately.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from latecomer.api.pattern import Pattern, event
from latecomer.clock.policy import ClockPerKey, OneClock
from latecomer.operators.levels import Levels, once_per_wait
from latecomer.operators.patterns.detect import Detect
from latecomer.operators.patterns.shapes import Some
from latecomer.operators.sort import Sort
from latecomer.plan import Plan, Source, Stage
from latecomer.time import parse_duration
from tests.search import running, sorts
from tests.search.cases import Case
from tests.search.driving import drive
from tests.search.streams import SECOND, Columns, Row, draw_batches
from tests.search.trees import Tree, after, draw_tree, is_repeated, may_be_empty, names_in

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

EVENTS, GUARD = "pqrs", "guard"
VALUES = range(-3, 9)


@dataclass(frozen=True)
class Conditioned(Columns):
    """Rows with a column for each condition, as Spark adds them before the sort."""

    meets: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """The values that meet each condition; for a null the condition is null."""

    @property
    def schema(self) -> pa.Schema:
        schema = super().schema
        for name, _ in self.meets:
            schema = schema.append(pa.field(f"_lc_{name}", pa.bool_()))
        return schema

    def table(self, rows: Sequence[Row], first: int) -> pa.Table:
        """Return rows as a table, with a column for each condition."""
        plain = Columns(*astuple(self)[:-1]).table(rows, first)
        for name, values in self.meets:
            met = [None if value is None else value in values for _, _, value in rows]
            plain = plain.append_column(f"_lc_{name}", pa.array(met, pa.bool_()))
        return plain


def draw(rng: random.Random) -> Case:
    """Draw a case."""
    names = list(EVENTS[: rng.choice([1, 2, 3, 4])])
    asked = {name: tuple(rng.sample(VALUES, rng.choice([3, 6, 9]))) for name in (*names, GUARD)}
    for name in names:
        if rng.random() < 0.1:
            del asked[name]
    plain = Columns.draw(rng, taken=("start", "end", "wait", "is_final", "value", *EVENTS))
    # Functions read the column `value` by name.
    columns = Conditioned(*astuple(replace(plain, value="value")), tuple(asked.items()))
    tree: Tree = ()
    while may_be_empty(tree):
        tree = draw_tree(rng, names)
    waits = sorted(rng.sample(range(6), rng.choice([1, 1, 2])))
    own = rng.choice([False, False, True])
    options = {
        "columns": columns,
        "tree": tree,
        "where": {rng.choice(names): rng.choice(names)} if rng.random() < 0.4 else {},
        "within": rng.choice([0, 2, 6, 20]) * SECOND,
        "strict": rng.random() < 0.3,
        "overlap": rng.random() < 0.6,
        "silence": rng.choice([None, None, SECOND, 5 * SECOND]),
        "absent": rng.choice([GUARD, GUARD, None]),
        "absent_where": rng.choice([None, *names]),
        "keyed": own or rng.choice([True, False]),
        "waits": tuple(wait * SECOND for wait in waits),
        "late": "divert",
        "clock": "key" if own else "one",
        "idle": None,
        "pace": SECOND,
    }
    return Case(options, draw_batches(rng, columns, rng.choice([SECOND, 4 * SECOND])))


def rises(earlier: Any, row: Any) -> bool:  # noqa: ANN401
    """Return True unless a row is less than an earlier event: a row, a list of rows, or None."""
    if isinstance(earlier, list):
        earlier = earlier[-1] if earlier else None
    if earlier is None or earlier.value is None or row.value is None:
        return True
    return row.value >= earlier.value


def found(case: Case) -> Any:  # noqa: ANN401
    """Return for each step the matches of each wait and key, and the late rows."""
    options, columns = case.options, case.options["columns"]
    waits, time = options["waits"], columns.time_column
    key = (columns.key,) if options["keyed"] else ()
    pattern = _pattern(options["tree"], options)
    if options["silence"] is not None:
        absent = options["absent"] and f"_lc_{options['absent']}"
        pattern = pattern.then_none(
            absent,
            where=_asks(options["absent_where"]),
            duration=timedelta(microseconds=options["silence"]),
        )
    detect = Detect(
        time,
        key,
        pattern.automaton(),
        options["within"],
        is_strict=options["strict"],
        may_overlap=options["overlap"],
        silence=pattern.silence,
    )
    own = options["clock"] == "key"
    clock = ClockPerKey(waits, None, key) if own else OneClock(waits)
    first = Sort(time) if len(waits) == 1 else Levels(time, waits)
    stage = Stage(key, once_per_wait((first, detect)))
    plan = Plan(Source(time, key), clock, "divert", (stage,))
    told = []
    matches: dict[Any, list[Any]] = {}
    for step in running.steps(plan, columns, case.batches, options["pace"]):
        if options["silence"] is None:
            matches = {}
        for row in step.ready.to_pylist():
            wait = waits[0] if len(waits) == 1 else parse_duration(row["wait"], "wait")
            assert len(waits) == 1 or row["is_final"] == (wait == waits[-1])
            group = repr(row[columns.key]) if key else ""
            events = tuple((name, _ids(row[name], columns)) for name in names_in(options["tree"]))
            matches.setdefault((wait, group), []).append(events)
        told.append((_by_end(matches), running.late(step, columns)))
    return told if options["silence"] is None else told[-1]


def _by_end(matches: dict[Any, list[Any]]) -> dict[Any, list[Any]]:
    """Return for each wait and key the last rows of the matches, and the sorted matches."""
    return {
        of: [[_last(each) for each in events], sorted(map(repr, events))]
        for of, events in matches.items()
    }


def _last(events: tuple[tuple[str, Any], ...]) -> int:
    """Return the last row of a match. Within a key, rows are in order of time and number."""
    numbers = [each for _, rows in events for each in (rows if isinstance(rows, list) else [rows])]
    return max((number for number in numbers if number is not None), key=lambda each: each[:2])[1]


def _ids(taken: Any, columns: Columns) -> Any:  # noqa: ANN401
    """Return the time and number of a row, or of each; None if there is none."""
    if isinstance(taken, list):
        return [_ids(row, columns) for row in taken]
    return None if taken is None else (taken[columns.time], taken[columns.number])


def _pattern(tree: Tree, options: dict[str, Any]) -> Pattern:
    match tree:
        case ("event", name):
            asked = dict(options["columns"].meets)
            condition = f"_lc_{name}" if name in asked else None
            return event(name, condition, where=_where(name, options))
        case ("then", one, other, unless):
            guard = f"_lc_{GUARD}" if unless else None
            return _pattern(one, options).then(_pattern(other, options), unless=guard)
        case ("or", one, other):
            return _pattern(one, options).or_(_pattern(other, options))
    _, of, least, most = tree
    some = _pattern(of, options)
    if most is None:
        # No public method asks for "at least twice".
        return some.star() if least == 0 else Pattern(Some(some.shape, least))
    return some.optional() if (least, most) == (0, 1) else some.times(least, most)


def _where(name: str, options: dict[str, Any]) -> Callable[..., bool] | None:
    return _asks(options["where"].get(name))


def _asks(name: str | None) -> Callable[..., bool] | None:
    """Return a function that compares a row with the named event."""
    if name is None:
        return None
    functions: dict[str, Callable[..., bool]] = {
        "p": lambda row, p: rises(p, row),
        "q": lambda row, q: rises(q, row),
        "r": lambda row, r: rises(r, row),
        "s": lambda row, s: rises(s, row),
    }
    return functions[name]


def expected(case: Case) -> Any:  # noqa: ANN401
    """Match the sorted rows one by one."""
    options = case.options
    arrived = [row for rows in case.batches for row in rows]
    finders: dict[tuple[int, str], Finder] = {}
    told = []
    late: Any = []
    for answers, late, _ in drive(case, lambda key: sorts.Held(key, options)):
        matches: dict[Any, list[Any]] = {}
        for name, (_, number, _, _) in answers:
            of = int(name[1:].split(",")[0]), repr(arrived[number][1]) if options["keyed"] else ""
            finder = finders.setdefault(of, Finder(options))
            complete = finder.look(Seen(*arrived[number], number))
            if complete:
                matches.setdefault(of, []).extend(complete)
        told.append((_by_end(matches), late))
    if options["silence"] is None:
        return told
    # Brute force does not compute when such matches come out, so all are compared at the end.
    waited = {of: finder.waited() for of, finder in finders.items()}
    return _by_end({of: matches for of, matches in waited.items() if matches}), late


class Seen(NamedTuple):
    """A row of a key."""

    time: int
    key: Any
    value: int | None
    number: int


class Match(NamedTuple):
    """A match that is under way."""

    taken: tuple[tuple[str, Seen], ...]
    rest: frozenset[Tree]
    """The patterns that may still complete the match."""
    guarded: bool
    """Whether a row that meets the guard was skipped since the last event."""


class Finder:
    """The matches of one key."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._meets = dict(options["columns"].meets)
        self._names = names_in(options["tree"])
        self._under_way: list[Match] = []
        self._waiting: list[tuple[Match, int]] = []
        """Complete matches, and the time until which a row that must be absent removes them."""

    def look(self, row: Seen) -> list[Any]:
        """Read a row; return the matches that it completes."""
        options = self._options
        within = options["within"]
        going, taken = [], []
        self._waiting = [
            (match, until)
            for match, until in self._waiting
            if row.time >= until or not self._does_harm(match, row)
        ]
        waits = any(row.time < until for _, until in self._waiting)
        for match in self._under_way:
            if row.time - match.taken[0][1].time > within:
                continue
            more = self._more(match, row)
            if more:
                taken += more
            elif not options["strict"]:
                passed = match._replace(guarded=match.guarded or self._is(GUARD, row))
                if any(_can_follow(passed, name) for name in self._names):
                    going.append(passed)
        if options["overlap"] or not (going or taken or waits):
            taken += self._more(Match((), frozenset({options["tree"]}), guarded=False), row)
        complete = [m for m in taken if any(map(may_be_empty, m.rest))]
        self._under_way = going + [m for m in taken if any(_can_follow(m, n) for n in self._names)]
        if options["silence"] is not None:
            self._waiting += [(match, row.time + options["silence"]) for match in complete]
            return []
        return [self._shown(match) for match in complete]

    def waited(self) -> list[Any]:
        """Return the matches that no row has removed."""
        return [self._shown(match) for match, _ in self._waiting]

    def _more(self, match: Match, row: Seen) -> list[Match]:
        more = []
        for name in self._names:
            rest = _can_follow(match, name)
            if rest and self._is(name, row) and self._rises(name, match, row):
                more.append(Match((*match.taken, (name, row)), rest, guarded=False))
        return more

    def _is(self, name: str, row: Seen) -> bool:
        return name not in self._meets or row.value in self._meets[name]

    def _does_harm(self, match: Match, row: Seen) -> bool:
        """Return True if a row must be absent after a match."""
        is_met = self._options["absent"] is None or self._is(GUARD, row)
        return is_met and self._compared(self._options["absent_where"], match, row)

    def _rises(self, name: str, match: Match, row: Seen) -> bool:
        return self._compared(self._options["where"].get(name), match, row)

    @staticmethod
    def _compared(name: str | None, match: Match, row: Seen) -> bool:
        return name is None or rises([seen for which, seen in match.taken if which == name], row)

    def _shown(self, match: Match) -> Any:  # noqa: ANN401
        columns, shown = self._options["columns"], []
        for name in self._names:
            ids = [
                (columns.shown(row.time), row.number) for which, row in match.taken if which == name
            ]
            is_list = is_repeated(self._options["tree"], name)
            shown.append((name, ids if is_list else ids[0] if ids else None))
        return tuple(shown)


def _can_follow(match: Match, name: str) -> frozenset[Tree]:
    """Return the patterns that may follow an event; none if the event cannot come next."""
    return frozenset(
        left
        for tree in match.rest
        for left, unless in after(tree, name)
        if not (unless and match.guarded)
    )

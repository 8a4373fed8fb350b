"""Chains of optimistic steps that end in a changelog or a barrier.

From docs/optimistic.md: the table of a changelog, and the rows of a barrier, are what the steps
would return for ordered rows without the late ones. A barrier releases rows strictly before the
watermark, in order. Changes that cancel out within a micro-batch are not emitted, and neither are
results that stay the same. Rows of equal time and key stay in order of arrival. Rows of equal time
and different keys may be in any order, so cases with steps of different keys have no equal times.

Each step returns rows of time, key and value. A grouping that comes last returns lists, which are
compared as they are.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from latecomer.clock.policy import OneClock
from latecomer.operators.optimistic.barrier import Barrier
from latecomer.operators.optimistic.changelog import Changelog
from latecomer.operators.optimistic.enter import Enter
from latecomer.operators.optimistic.flat_map import FlatMap
from latecomer.operators.optimistic.grouping import Grouping
from latecomer.operators.optimistic.stateful import Stateful
from latecomer.plan import Plan, Source, Stage, placement
from tests.search import clocks, running
from tests.search.cases import Case
from tests.search.streams import SECOND, Columns, draw_batches

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

TAKEN = ("items", "_change_type", "_change_number")


class Item(NamedTuple):
    """A row between two steps."""

    time: Any
    key: Any
    value: Any


class Step(NamedTuple):
    """The specification of one step."""

    name: str
    keyed: bool
    """Whether each key has a state of its own."""
    number: int
    """Number of rows in a list of a grouping, or of rows for each saved state."""


def total(state: int, row: Any) -> tuple[int, Any]:  # noqa: ANN401
    """Add up the values."""
    state += row[2] or 0
    return state, state


def record(state: int, row: Any) -> tuple[int, Any]:  # noqa: ANN401
    """Return a value that exceeds all earlier ones. A null starts again from 0."""
    if row[2] is None:
        return 0, None
    return max(state, row[2]), row[2] if row[2] > state else None


def twice(state: list[int], row: Any) -> tuple[list[int], Any]:  # noqa: ANN401
    """Return two rows. The state is a list of the last two values, changed in place."""
    state.append(row[2] or 0)
    del state[:-2]
    return state, [sum(state), state[0]]


UPDATES: dict[str, tuple[Callable[..., Any], Any]] = {
    "total": (total, 0),
    "record": (record, 0),
    "twice": (twice, []),
}


def draw(rng: random.Random) -> Case:
    """Draw a case."""
    columns = Columns.draw(rng, taken=TAKEN)
    names = [*UPDATES, "grouping", "split", "rekey"]
    steps = [
        Step(rng.choice(names), rng.random() < 0.7, rng.choice([1, 2, 3, 64]))
        for _ in range(rng.choice([1, 1, 2, 3]))
    ]
    options = {
        "columns": columns,
        "steps": tuple(steps),
        "wait": rng.choice([0, 2, 6, 20]) * SECOND,
        "out": rng.choice(["changelog", "barrier"]),
        "late": rng.choice(["divert", "divert", "drop"]),
        "idle": rng.choice([None, None, 4 * SECOND]),
        "pace": rng.choice([SECOND // 2, 2 * SECOND]),
    }
    batches = draw_batches(rng, columns, rng.choice([SECOND, 5 * SECOND]))
    if not all(step.keyed and step.name != "rekey" for step in steps):
        seen: set[int] = set()
        batches = tuple(
            tuple(row for row in rows if row[0] is None or not (row[0] in seen or seen.add(row[0])))
            for rows in batches
        )
    return Case(options, (*batches, *([()] * rng.choice([0, 9]))))


def found(case: Case) -> Any:  # noqa: ANN401
    """Return for each step the table or the released rows, and the late rows."""
    options, columns = case.options, case.options["columns"]
    table: Counter[Any] = Counter()
    told = []
    for step in running.steps(_plan(options), columns, case.batches, options["pace"]):
        late = running.late(step, columns), step.dropped
        rows = [[cell.as_py() for cell in row] for row in zip(*step.ready.columns, strict=True)]
        if options["out"] == "barrier":
            told.append((_in_order([_shown(row[:3]) for row in rows]), *late))
            continue
        wrong = []
        changes: dict[str, Counter[Any]] = {"insert": Counter(), "delete": Counter()}
        if [row[-1] for row in rows] != [*range(len(rows))]:
            wrong.append(("numbers", [row[-1] for row in rows]))
        for row in rows:
            shown = _shown(row[:3])
            changes[row[-2]][shown] += 1
            table[shown] += 1 if row[-2] == "insert" else -1
            if table[shown] < 0:
                wrong.append(("nothing to take back", shown))
        if _tells_apart(case) and (both := changes["insert"] & changes["delete"]):
            wrong.append(("said and taken back", both))
        told.append((+table, wrong, *late))
    return told


def _tells_apart(case: Case) -> bool:
    """Return True if equal rows of a changelog always come from the same input row."""
    times = [row[0] for rows in case.batches for row in rows]
    has_one = all(step.name not in ("split", "twice") for step in case.options["steps"])
    return has_one and len(set(times)) == len(times)


def _in_order(rows: list[tuple[str, ...]]) -> Any:  # noqa: ANN401
    """Return the times in order, and the rows of each key in order."""
    by_key: dict[str, list[Any]] = {}
    for row in rows:
        by_key.setdefault(row[1], []).append(row)
    return [row[0] for row in rows], by_key


def _shown(row: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Return a row as text. Rows in a list are cut to time, key and value."""
    *first, last = row
    if isinstance(last, list):
        last = [
            tuple(each.values())[:3] if isinstance(each, dict) else tuple(each) for each in last
        ]
    return (*map(repr, first), repr(last))


def _plan(options: dict[str, Any]) -> Plan:
    columns = options["columns"]
    time, key, kind = columns.time_column, columns.key, columns.schema.field(columns.key)
    operators: list[Any] = []
    value = pa.field(columns.value, pa.int64())
    both = pa.schema([kind, value])
    for at, step in enumerate(options["steps"]):
        by = (key,) if step.keyed else ()
        if step.name == "grouping":
            operators.append(Grouping(time, by, step.number))
            if at + 1 < len(options["steps"]) or not by:
                operators.append(FlatMap(time, _of_list(columns), both))
        elif step.name in UPDATES:
            update, initial = UPDATES[step.name]
            made = pa.schema([value]) if by else both
            function = update if by else _with_key(update)
            operators.append(Stateful(time, by, function, initial, made, step.number))
        else:
            function = _split if step.name == "split" else _rekeyed(columns.keys)
            operators.append(FlatMap(time, function, both))
    # As in `OptimisticStream`: the stage of the first step also numbers the rows.
    first = (key,) if operators[0].keyed is None else operators[0].keyed
    clock = OneClock((options["wait"],), options["idle"])
    stages = (Stage(first, (Enter(time, first),)),)
    plan = Plan(Source(time, (key,)), clock, options["late"], stages)
    for operator in operators:
        plan = placement.then_optimistic(plan, operator)
    return placement.then_optimistic(
        plan, Barrier(time) if options["out"] == "barrier" else Changelog()
    )


def _with_key(update: Callable[..., Any]) -> Callable[..., Any]:
    """Return an update that adds the key to each row, for steps where all rows share a state."""

    def updated(state: Any, row: Any) -> Any:  # noqa: ANN401
        state, made = update(state, row)
        rows = made if isinstance(made, list) else [] if made is None else [made]
        return state, [(row[1], each) for each in rows]

    return updated


def _of_list(columns: Columns) -> Callable[[Any], Any]:
    """Return a function that adds up the values of a list and returns the key of its last row."""

    def added(row: Any) -> Any:  # noqa: ANN401
        items = row.items
        return items[-1][columns.key], sum(each[columns.value] or 0 for each in items)

    return added


def _split(row: Any) -> Any:  # noqa: ANN401
    """Return no row for a null, one for an even value, two for an odd one."""
    if row[2] is None:
        return None
    return [(row[1], row[2])] if row[2] % 2 == 0 else [(row[1], 1), (row[1], row[2] - 1)]


def _rekeyed(keys: list[Any]) -> Callable[[Any], Any]:
    """Return a function that replaces the key of a row, by its value."""
    return lambda row: (keys[(row[2] or 0) % len(keys)], row[2])


def expected(case: Case) -> Any:  # noqa: ANN401
    """Compute the same result after each micro-batch, from all rows that are not late."""
    options, number = case.options, 0
    columns, clock = options["columns"], clocks.OneClock(options["idle"])
    kept: list[tuple[int, int, Item]] = []
    told, released = [], -(10**18)
    for at, rows in enumerate(case.batches):
        watermark = clock.tick(at * options["pace"]) - options["wait"]
        late, dropped = [], 0
        for time, key, value in rows:
            if time is None:
                late.append((number, "no time"))
            elif time >= watermark:
                kept.append((time, number, Item(columns.shown(time), key, value)))
            elif options["late"] == "drop":
                dropped += 1
            else:
                late.append((number, "late"))
            number += 1
        clock.hear([time for time, _, _ in rows if time is not None])
        told.append((*_answer(kept, options, released, watermark), late, dropped))
        released = max(released, watermark)
    return [*told, (*_answer(kept, options, released, 10**18), [], 0)]


def _answer(
    kept: list[tuple[int, int, Item]], options: dict[str, Any], since: int, until: int
) -> list[Any]:
    rows = [(time, item) for time, _, item in sorted(kept, key=lambda each: each[:2])]
    steps = options["steps"]
    for at, step in enumerate(steps):
        rows = _stepped(rows, step, options["columns"].keys, is_last=at + 1 == len(steps))
    if options["out"] == "changelog":
        return [Counter(_shown(item) for _, item in rows), []]
    return [_in_order([_shown(item) for time, item in rows if since <= time < until])]


def _stepped(
    rows: list[tuple[int, Item]], step: Step, keys: list[Any], *, is_last: bool
) -> list[tuple[int, Item]]:
    """Run a step on all rows, in order."""
    out: list[tuple[int, Item]] = []
    states: dict[str, Any] = {}
    for time, row in rows:
        group = repr(row.key) if step.keyed else ""
        state, made = _made(row, step, states.get(group), keys, is_last=is_last)
        states[group] = state
        out += [(time, row._replace(key=key, value=value)) for key, value in made]
    return out


def _made(  # noqa: PLR0911 - one for each step
    row: Item,
    step: Step,
    state: Any,  # noqa: ANN401
    keys: list[Any],
    *,
    is_last: bool,
) -> tuple[Any, list[Any]]:
    """Return the next state, and the key and value of each output row."""
    key, value = row.key, row.value
    plain = value or 0
    match step.name:
        case "grouping":
            items = [*(state or []), row][-step.number :]
            added = sum(each.value or 0 for each in items)
            return items, [(key, items if is_last and step.keyed else added)]
        case "total":
            return (state or 0) + plain, [(key, (state or 0) + plain)]
        case "record":
            if value is None:
                return 0, []
            return max(state or 0, value), [(key, value)] if value > (state or 0) else []
        case "twice":
            two = [*(state or []), plain][-2:]
            return two, [(key, sum(two)), (key, two[0])]
        case "split":
            if value is None:
                return None, []
            return None, [(key, value)] if value % 2 == 0 else [(key, 1), (key, value - 1)]
    return None, [(keys[plain % len(keys)], value)]

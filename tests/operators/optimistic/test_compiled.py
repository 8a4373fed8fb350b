"""A compiled function gives the same results as a called one."""

from typing import Any

import pyarrow as pa
import pytest

from latecomer.errors import UpdateError
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.optimistic import compiled
from latecomer.operators.optimistic.items import MARKS
from latecomer.operators.optimistic.stateful import Stateful
from tests.support.chains import SCHEMA, TIME, Seen

ITEM = pa.schema([*SCHEMA, *MARKS])
NUMBER = pa.schema([("total", pa.int64())])


def started(update: Any, initial: object, outputs: pa.Schema = NUMBER) -> Any:  # noqa: ANN401
    return Stateful(TIME, ("key",), update, initial, outputs, 4).start(ITEM, MemoryChunks())


def items(*rows: tuple[int, str, int]) -> pa.Table:
    made = [(*row, 1, ord(row[1]), 0, 0) for row in rows]
    return pa.Table.from_pylist([dict(zip(ITEM.names, r, strict=True)) for r in made], ITEM)


def mean(state: tuple[int, float], row: Seen) -> tuple[tuple[int, float], tuple[float, int] | None]:
    count, total = state
    count, total = count + 1, total + row.value / 2
    if row.value % 3 == 0:
        return (count, total), None
    return (count, total), (total / count, row.value)


def doubled(state: int, row: Seen) -> tuple[float, list[tuple[float, int]]]:
    return state * 0.5 + row.value, [(state, row.value) for _ in range(row.value % 3)]


def always(state: bool, row: Seen) -> tuple[bool, tuple[int, int]]:  # noqa: FBT001
    return not state, (row.value, row.time)


@pytest.mark.parametrize(
    ("update", "initial"), [(mean, (0, 0.0)), (doubled, 0), (always, False), (mean, (0, 0))]
)
def test_a_compiled_update_gives_the_results_of_a_called_one(
    update: Any,  # noqa: ANN401
    initial: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outputs = pa.schema([("one", pa.float64()), ("other", pa.int64())])
    rows = [(t * 7 % 50, "ab"[t % 2], t % 11) for t in range(60)]
    runs, ways = [], []
    for least in (0, 10**9):
        monkeypatch.setattr(compiled, "COMPILED_FROM", least)
        found = compiled.fold

        def spied(*args: Any, found: Any = found) -> Any:  # noqa: ANN401
            result = found(*args)
            ways.append(result is not None)
            return result

        with monkeypatch.context() as patched:
            patched.setattr(compiled, "fold", spied)
            running = started(update, initial, outputs)
            batches = [items(*rows[at : at + 20]) for at in (0, 20, 40)]
            said = [running.push(_sourced(batch)).ready for batch in batches]
        runs.append([batch.to_pylist() for batch in said])

    assert ways == [True] * 3 + [False] * 3
    assert runs[0] == runs[1]


def _sourced(batch: pa.Table) -> pa.Table:
    """Distinguishes items of equal time."""
    at = batch.schema.get_field_index("_lc_source")
    return batch.set_column(at, "_lc_source", batch["value"])


def third(state: int, row: Seen) -> tuple[int, tuple[int]]:
    return state + row[2], (state + row[2],)


def unpacked(state: int, row: Seen) -> tuple[int, tuple[int]]:
    _, key, value = row
    return state + (value if key == "a" else 0), (state,)


def of_known_keys(state: int, row: Seen) -> tuple[int, tuple[int]]:
    return state + (row.value if row.key is not None else 0), (state,)


def squared(state: float, row: Seen) -> tuple[float, tuple[float]]:
    return state + row.small * row.small, (-row.short,)


def divided(state: int, row: Seen) -> tuple[int, tuple[float]]:
    return state + row.value, (state / 1,)


def counting(state: int, row: Seen) -> tuple[int, None]:
    return state + row.value, None


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
@pytest.mark.parametrize("update", [third, unpacked, of_known_keys, squared, divided, counting])
def test_compiled_and_called_updates_return_equal_rows_and_failures(
    update: Any,  # noqa: ANN401
    kind: pa.DataType,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outputs = pa.schema([("total", kind)])
    more = [pa.field("small", pa.float32()), pa.field("short", pa.int8())]
    batch = items((1, "a", 5), (2, "a", 2), (3, "b", 7), (4, "b", 1))
    table = pa.table(
        [*batch.columns[:3], [0.1, 3.3, 0.7, 1.1], [1, -128, 0, 5], *batch.columns[3:]],
        schema=pa.schema([*SCHEMA, *more, *MARKS]),
    )
    runs = []
    for least in (0, 10**9):
        monkeypatch.setattr(compiled, "COMPILED_FROM", least)
        spec = Stateful(TIME, ("key",), update, 0, outputs, 1)
        running = spec.start(table.schema, chunks := MemoryChunks())
        try:
            made = running.push(table).ready.to_pylist()
            running.save()
            runs.append([made, [rows.to_pylist() for rows in chunks.batches.values()]])
        except UpdateError as error:
            runs.append([str(error)])

    assert runs[0] == runs[1]


def test_a_failure_of_a_compiled_update_names_its_row_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "COMPILED_FROM", 0)

    def divided(state: int, row: Seen) -> tuple[int, tuple[int]]:
        return state + 1, (10 // row.value,)

    with pytest.raises(UpdateError, match=r"value=0.* and the state 1"):
        started(divided, 0).push(items((1, "k", 5), (2, "k", 0)))


@pytest.mark.parametrize("state", ["text", (1, "text"), None, (), 10**30])
def test_states_that_are_no_numbers_are_not_compiled(
    state: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "COMPILED_FROM", 0)

    def counted(state: object, row: Seen) -> tuple[object, tuple[int]]:
        return state, (row.value,)

    (row,) = started(counted, state).push(items((1, "k", 5))).ready.to_pylist()
    assert (row["_lc_sign"], row["time"], row["total"]) == (1, 1, 5)


def test_a_few_rows_are_not_worth_compiling_and_many_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(state: int, row: Seen) -> tuple[int, tuple[int]]:
        return state + 1, (state + row.value,)

    ways = []
    found = compiled.fold

    def spied(*args: Any) -> Any:  # noqa: ANN401
        result = found(*args)
        ways.append(result is not None)
        return result

    monkeypatch.setattr(compiled, "fold", spied)
    monkeypatch.setattr(compiled, "COMPILED_FROM", 3)
    running = started(counted, 0)
    for time in range(4):
        running.push(items((time, "k", 1)))

    assert ways == [False, False, True, True]


def mixing(state: int, row: Seen) -> tuple[int, tuple[int]]:
    state = state * 31 + row.value
    return state, (state % 1_000_003,)


def test_growing_integers_give_the_same_results_in_a_new_process_and_an_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [(time, "k", time) for time in range(40)]
    runs = []
    for least in (0, 10**9):
        monkeypatch.setattr(compiled, "COMPILED_FROM", least)
        running = started(mixing, 7)
        said = [running.push(items(*rows[at : at + 10])).ready for at in range(0, 40, 10)]
        runs.append([batch.column("total").to_pylist() for batch in said])

    assert runs[0] == runs[1]
    state = 7
    for time in range(40):
        state = state * 31 + time
    assert state > 2**64
    assert runs[0][-1][-1] == state % 1_000_003


def test_a_flag_for_an_integer_is_a_number_compiled_or_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def flagged(state: int, row: Seen) -> tuple[int, tuple[int]]:
        return state, (row.value if row.value > 3 else row.value == 2,)

    for least in (0, 10**9):
        monkeypatch.setattr(compiled, "COMPILED_FROM", least)
        made = started(flagged, 0).push(items((1, "k", 5), (2, "k", 2), (3, "k", 1))).ready
        assert made.column("total").to_pylist() == [5, 1, 0]

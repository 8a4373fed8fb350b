"""Compile a function of a state and a row, and run it over all keys in one loop.

A function can be compiled if the state is a number or a tuple of numbers, the outputs are too, and
the columns that it reads are numbers without nulls. Compiling takes seconds in each worker, so it
is done once there have been enough rows to be worth it. A list that may be empty cannot be
compiled: return None for no row, and a tuple for one.

A compiled function returns what the called one returns (`operators.temporal.exact`): if an integer
becomes too large to be exact, the function is called instead. Columns that are not numbers have a
place in the row, but no value: a function that reads one is called.
"""

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Positions
from latecomer.operators.aggregates.slices import Values
from latecomer.operators.optimistic.replays import Replay
from latecomer.operators.optimistic.written import (
    Numbers,
    frozen_numbers,
    thawed_all,
    thawed_numbers,
)
from latecomer.operators.temporal.compiling import LARGEST
from latecomer.operators.temporal.conditions import Same, numbers_of

COMPILED_FROM = 50_000
"""Number of rows, in all batches together, that are worth the seconds that compiling takes."""

Found = tuple[pa.BinaryArray, "Positions", "Batch"]
"""The states to keep; the number of outputs of each row; and all outputs."""


def fold(
    update: Callable[[Any, Any], tuple[Any, Any]],
    outputs: pa.Schema,
    rows: Batch,
    replay: Replay,
    begins: pa.BinaryArray,
) -> Found | None:
    """Run a compiled function over items.

    Returns:
        None if the function cannot be compiled, is not worth compiling, or fails. The caller then
        calls it row by row, which raises the function's own error if there is one.
    """
    if not isinstance(update, FunctionType) or not rows.num_rows:
        return None
    same = Same(update)
    asked = _asked(same)
    asked.rows += rows.num_rows
    if asked.rows < COMPILED_FROM:
        return None
    states = thawed_numbers(begins) or _columns(thawed_all(begins.to_pylist()))
    if states is None:
        return None
    columns = numbers_of(rows)
    kinds = tuple(
        (name, columns[name].dtype.str if name in columns else None) for name in rows.column_names
    )
    loop = _loop(same, kinds, states.kinds, states.is_tuple, len(outputs))
    if loop is None:
        return None
    began = tuple(
        values.astype(kind, copy=False)
        for values, kind in zip(states.columns, loop.state, strict=True)
    )
    try:
        kept, counts, made = loop.run(
            replay.slices.bounds, began, tuple(columns.values()), replay.is_anew
        )
        table = pa.table(
            [_column(values, field) for values, field in zip(made, outputs, strict=True)],
            schema=outputs,
        )
    except Exception:  # noqa: BLE001 - an error of the function is raised by the call
        return None
    places = np.flatnonzero(replay.is_kept)
    written = frozen_numbers([column[places] for column in kept], is_tuple=states.is_tuple)
    return written, counts, table


def _column(values: Values, field: pa.Field) -> pa.Array:
    """Return outputs as Arrow, if a called function may return values of their type."""
    if not len(values):
        return pa.nulls(0, field.type)
    is_whole = values.dtype.kind in "iu"
    if not (
        (values.dtype.kind == "f" and pa.types.is_floating(field.type))
        or (values.dtype.kind == "b" and pa.types.is_boolean(field.type))
        or (is_whole and (pa.types.is_floating(field.type) or pa.types.is_integer(field.type)))
        or (is_whole and pa.types.is_temporal(field.type))
    ):
        raise TypeError
    return pa.array(values).cast(field.type)


def _columns(states: list[Any]) -> Numbers | None:
    """Return states as columns of numbers; None if they are anything else."""
    is_tuple = type(states[0]) is tuple
    width = len(states[0]) if is_tuple else 1
    if not width or any((type(s) is tuple) != is_tuple for s in states):
        return None
    if is_tuple and any(len(state) != width for state in states):
        return None
    parts = [*zip(*states, strict=True)] if is_tuple else [states]
    columns = []
    for part in parts:
        kinds = {type(value) for value in part}
        if kinds == {bool}:
            columns.append(np.array(part, np.bool_))
        elif kinds <= {int, float} and not any(
            type(value) is int and abs(value) > LARGEST for value in part
        ):
            columns.append(np.array(part, np.float64 if float in kinds else np.int64))
        else:
            return None
    return Numbers(columns, is_tuple)


@dataclass(slots=True)
class _Asked:
    same: Same
    rows: int = 0
    """Number of rows so far."""


_asked = lru_cache(maxsize=64)(_Asked)


class _Loop(NamedTuple):
    run: Callable[..., tuple[tuple[Values, ...], Positions, tuple[Values, ...]]]
    state: tuple[Any, ...]
    """Types of the state."""


@lru_cache(maxsize=64)
def _loop(
    same: Same,
    columns: tuple[tuple[str, str | None], ...],
    state: tuple[str, ...],
    is_tuple: bool,  # noqa: FBT001 - not for users
    width: int,
) -> _Loop | None:
    """Return a compiled loop that calls the function; None if it cannot be compiled."""
    import numba

    from latecomer.operators.temporal import exact

    row = namedtuple("Row", [name for name, _ in columns], rename=True)  # type: ignore[misc]
    update = exact.compiled(same.function)
    # A `pyobject` cannot be used: a function that reads a column without numbers is not compiled.
    given = [numba.from_dtype(np.dtype(k)) if k else numba.types.pyobject for _, k in columns]
    kinds = [numba.from_dtype(np.dtype(kind)) for kind in state]
    try:
        shown = numba.types.NamedTuple(given, row)  # type: ignore[no-untyped-call]
        kinds, made = _typed(update, shown, kinds, is_tuple)
        values, how = _values(made, width)
    except Exception:  # noqa: BLE001 - numba has many ways to say no
        return None
    dtypes = [numba.np.numpy_support.as_dtype(kind) for kind in kinds]
    source = _source([kind is not None for _, kind in columns], len(kinds), is_tuple, values, how)
    from numba.typed.typedobjectutils import _nonoptional

    scope: dict[str, Any] = {"np": np, "update": update, "Row": row, "sure": _nonoptional}
    exec(source, scope)  # noqa: S102 - numba needs a loop that names each column
    return _Loop(numba.njit(nogil=True)(scope["loop"]), tuple(dtypes))


def _typed(update: Any, row: Any, kinds: list[Any], is_tuple: bool) -> tuple[list[Any], Any]:  # noqa: ANN401, FBT001
    """Return the types of the state and the type of the outputs.

    The types are widened until the state has the same ones before and after an update.
    """
    from numba import types

    for _ in range(3):
        given = types.Tuple(kinds) if is_tuple else kinds[0]  # type: ignore[no-untyped-call]
        update.compile((given, row))
        pair = _parts(update.overloads[given, row].signature.return_type)
        if pair is None or len(pair) != 2:  # noqa: PLR2004
            raise TypeError
        after = _parts(pair[0])
        if (after is not None) != is_tuple:
            raise TypeError
        after = [pair[0]] if after is None else after
        if after == kinds:
            return kinds, pair[1]
        kinds = [_wider(one, other) for one, other in zip(kinds, after, strict=True)]
    raise TypeError


def _parts(kind: Any) -> list[Any] | None:  # noqa: ANN401
    """Return the types in a tuple; None if the type is not a tuple."""
    from numba import types

    return [*kind] if isinstance(kind, types.BaseTuple) else None  # type: ignore[misc]


def _wider(one: Any, other: Any) -> Any:  # noqa: ANN401
    """Return the type that holds the numbers of both types."""
    from numba import types

    if one == other:
        return one
    if {one, other} == {types.int64, types.float64}:
        return types.float64
    raise TypeError


def _values(made: Any, width: int) -> tuple[list[str], str]:  # noqa: ANN401
    """Return the types of the outputs, and how the function returns them."""
    from numba import types
    from numba.np.numpy_support import as_dtype

    how = "one"
    if isinstance(made, types.Optional):
        made, how = made.type, "some"
    elif isinstance(made, types.List):
        made, how = made.dtype, "list"
    elif made == types.none:
        return ["f8"] * width, "none"
    parts = _parts(made)
    if parts is None:
        parts, how = [made], f"{how} bare"
    if len(parts) != width or not all(isinstance(p, types.Number | types.Boolean) for p in parts):
        raise TypeError
    return [as_dtype(part).str for part in parts], how


def _source(
    is_number: list[bool],
    states: int,
    is_tuple: bool,  # noqa: FBT001
    values: list[str],
    how: str,
) -> str:
    """Return the source of the loop. A row has all columns; those without numbers are empty."""
    places = accumulate(is_number, initial=0)
    row = ", ".join(
        f"columns[{at}][i]" if is_there else "()"
        for at, is_there in zip(places, is_number, strict=False)
    )
    begin = [f"begins[{at}][group]" for at in range(states)]
    after = [f"state[{at}]" for at in range(states)] if is_tuple else ["state"]
    lines = [
        "def loop(bounds, begins, columns, is_anew):",
        "    rows = len(is_anew)",
        "    total = item = 0",
        "    counts = np.zeros(np.count_nonzero(is_anew), np.int64)",
        *(f"    state_{at} = np.empty(rows, begins[{at}].dtype)" for at in range(states)),
        *(f"    made_{at} = np.empty(rows, '{kind}')" for at, kind in enumerate(values)),
        "    for group in range(len(bounds) - 1):",
        f"        state = ({', '.join(begin)},)" if is_tuple else f"        state = {begin[0]}",
        "        for i in range(bounds[group], bounds[group + 1]):",
        f"            state, out = update(state, Row({row}))",
        *(f"            state_{at}[i] = {value}" for at, value in enumerate(after)),
        "            if not is_anew[i]:",
        "                continue",
        "            before = total",
    ]
    kind, _, bare = how.partition(" ")
    write = [
        f"made_{at}[total] = {'value' if bare else f'value[{at}]'}" for at in range(len(values))
    ]
    one = [*write, "total += 1"]
    grow = [f"    made_{at} = np.append(made_{at}, made_{at})" for at in range(len(values))]
    body = {
        "none": [],
        "one": ["value = out", *one],
        "some": ["if out is not None:", *(f"    {line}" for line in ["value = sure(out)", *one])],
        "list": [
            "for value in out:",
            "    if total == len(made_0):",
            *(f"    {line}" for line in grow),
            *(f"    {line}" for line in one),
        ],
    }[kind]
    lines += [f"            {line}" for line in body]
    lines += ["            counts[item] = total - before", "            item += 1"]
    kept = ", ".join(f"state_{at}" for at in range(states))
    made = ", ".join(f"made_{at}[:total]" for at in range(len(values)))
    lines.append(f"    return ({kept},), counts, ({made},)")
    return "\n".join(lines)

"""Window joins with all forms of conditions, and tuples for them."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from latecomer.operators.window_join.equalities import Equalities, Pair
from latecomer.operators.window_join.joiner import Probes, WindowJoin
from latecomer.operators.window_join.known_rows import KnownRows
from latecomer.operators.window_join.tuples import Tuples
from tests.support import brute
from tests.support.cuts import parts

SCHEMA = pa.schema({"a": pa.int64(), "b": pa.int64()})
"""A value v is stored in two columns, a = v // 2 and b = v % 2."""

Holds = Callable[[tuple[int, ...]], bool]

CONDITIONS: dict[str, tuple[int, Equalities, Holds]] = {
    "cross": (2, Equalities(2), lambda _: True),
    "cross of three": (3, Equalities(3), lambda _: True),
    "key of two": (2, Equalities.common("a", "a"), lambda v: v[0] // 2 == v[1] // 2),
    "key": (3, Equalities.common("a", "b", "a"), lambda v: v[0] // 2 == v[1] % 2 == v[2] // 2),
    "star": (
        3,
        Equalities(3, (Pair(1, "a", 0, "a"), Pair(1, "b", 2, "b"))),
        lambda v: v[0] // 2 == v[1] // 2 and v[1] % 2 == v[2] % 2,
    ),
    "path": (
        4,
        Equalities(4, (Pair(0, "a", 1, "a"), Pair(1, "b", 2, "b"), Pair(2, "a", 3, "a"))),
        lambda v: v[0] // 2 == v[1] // 2 and v[1] % 2 == v[2] % 2 and v[2] // 2 == v[3] // 2,
    ),
    "circle": (
        3,
        Equalities(3, (Pair(0, "a", 1, "a"), Pair(1, "b", 2, "b"), Pair(0, "b", 2, "a"))),
        lambda v: v[0] // 2 == v[1] // 2 and v[1] % 2 == v[2] % 2 and v[0] % 2 == v[2] // 2,
    ),
    "one pair of three": (
        3,
        Equalities(3, (Pair(0, "a", 2, "b"),)),
        lambda v: v[0] // 2 == v[2] % 2,
    ),
}


def play(
    asked: WindowJoin, received: Sequence[brute.Tuple], at: list[int], answer: str = "results"
) -> list[Probes]:
    joiner = asked.start(answer)  # type: ignore[arg-type]
    seen = []
    for start, stop in parts(len(received), at):
        # Each batch adds its own rows, so the numbers of keys differ between batches.
        known = rows_of(received[:stop], asked.on)
        streams, times = (
            np.array([each[i] for each in received[start:stop]], np.int64) for i in range(2)
        )
        seen.append(joiner.push(Tuples(streams, times, np.arange(start, stop), times), known))
    return seen


def rows_of(received: Sequence[brute.Tuple], on: Equalities) -> KnownRows:
    """Return the rows of tuples, by their positions among all tuples."""
    own = [
        [(at, v) for at, (s, _, v) in enumerate(received) if s == stream]
        for stream in range(on.streams)
    ]
    tables = [
        pa.table([[v // 2 for _, v in some], [v % 2 for _, v in some]], schema=SCHEMA)
        for some in own
    ]
    return KnownRows(on, tables, [np.array([at for at, _ in some], np.int64) for some in own])


def found(seen: list[Probes]) -> list[brute.Result]:
    return [
        (time, tuple(rows))
        for each in seen
        for time, rows in zip(each.times.tolist(), each.results.tolist(), strict=True)
    ]


def tuples(streams: int, size: int = 22) -> st.SearchStrategy[list[brute.Tuple]]:
    each = st.tuples(st.integers(0, streams - 1), st.integers(-4, 10), st.integers(0, 3))
    return st.lists(each, max_size=size)

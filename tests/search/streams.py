"""Random streams: schemas, names, types, rows, and how they are cut into micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from latecomer.time import TimeColumn

if TYPE_CHECKING:
    import random

MS, SECOND = 1_000, 1_000_000
_NAMES = [
    "time",
    "at",
    "key",
    "Key",
    "value",
    "x.y",
    "größe",
    "wait",
    "window",
    "a b",
    "count",
    "_1",
    "is_final",
    "tick`ed",
    'say "so"',
    " led",
    "{x}",
    "select",
    "🙂",
]
_TIMES: dict[str, tuple[pa.DataType, str | None, int]] = {
    "timestamp": (pa.timestamp("us", "UTC"), None, 1),
    "timestamp without a zone": (pa.timestamp("us"), None, 1),
    "milliseconds": (pa.int64(), "ms", MS),
    "seconds": (pa.int32(), "s", SECOND),
    "seconds in 16 bits": (pa.int16(), "s", SECOND),
    "seconds in 8 bits": (pa.int8(), "s", SECOND),
}
_STRICT = pa.struct([pa.field("p", pa.int64(), nullable=False)])
_KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["a", "b", "", None]),
    "integer": (pa.int32(), [0, 1, -7, None]),
    "boolean": (pa.bool_(), [True, False, None]),
    "bytes": (pa.binary(), [b"", b"\0", b"x"]),
}
_BAGGAGE: dict[str, tuple[pa.DataType, Any]] = {
    "list": (pa.list_(pa.int64()), [1, None]),
    "struct": (pa.struct({"p": pa.string(), "q": pa.float64()}), {"p": "p", "q": 0.5}),
    "map": (pa.map_(pa.string(), pa.int64()), [("m", 1)]),
    "strict struct": (_STRICT, {"p": 1}),
    "strict structs": (pa.list_(_STRICT), [None, {"p": 2}]),
    "strict structs in structs": (pa.struct([pa.field("q", _STRICT)]), {"q": None}),
    "decimal": (pa.decimal128(20, 3), None),
    "date": (pa.date32(), None),
}

Row = tuple[int | None, Any, int | None]
"""Time in microseconds, key and value."""


@dataclass(frozen=True)
class Columns:
    """Names and types of the columns: time, key, value, number, and one that is only carried."""

    time: str
    key: str
    value: str
    number: str
    time_kind: str
    key_kind: str
    baggage: str

    @staticmethod
    def draw(rng: random.Random, taken: Sequence[str] = ()) -> Columns:
        """Draw names and types. Names differ even if case is ignored.

        Args:
            rng: The source of random numbers.
            taken: Names of columns that the query adds to its result.
        """
        names: list[str] = []
        for name in rng.sample(_NAMES, len(_NAMES)):
            if name.lower() not in (each.lower() for each in (*names, *taken)):
                names.append(name)
        kinds = rng.choice(list(_TIMES)), rng.choice(list(_KEYS)), rng.choice(list(_BAGGAGE))
        return Columns(*names[:4], *kinds)

    @property
    def tick(self) -> int:
        """The smallest difference between times, in microseconds."""
        return _TIMES[self.time_kind][2]

    @property
    def times(self) -> tuple[int, int]:
        """The first and the last time that the time column can hold, in microseconds."""
        kind, _, one = _TIMES[self.time_kind]
        most = 2 ** (kind.bit_width - 1)
        return (-most * one, (most - 1) * one) if pa.types.is_integer(kind) else (-most, most - 1)

    @property
    def time_column(self) -> TimeColumn:
        return TimeColumn(self.time, _TIMES[self.time_kind][1])  # type: ignore[arg-type]

    @property
    def keys(self) -> list[Any]:
        return _KEYS[self.key_kind][1]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(
            [
                (self.time, _TIMES[self.time_kind][0]),
                (self.key, _KEYS[self.key_kind][0]),
                (self.value, pa.int64()),
                (self.number, pa.int64()),
                ("carried", _BAGGAGE[self.baggage][0]),
            ]
        )

    def shown(self, time: int) -> Any:  # noqa: ANN401
        """Return a time as Arrow returns it from the time column."""
        return self.table([(time, None, None)], 0).column(0)[0].as_py()

    def table(self, rows: Sequence[Row], first: int) -> pa.Table:
        """Return rows as a table, numbered in order of arrival."""
        kind, _, one = _TIMES[self.time_kind]
        times = [None if time is None else time // one for time, _, _ in rows]
        carried = _BAGGAGE[self.baggage][1]
        columns = [
            pa.array(times, pa.int64()).cast(kind),
            [key for _, key, _ in rows],
            [value for _, _, value in rows],
            [first + at for at in range(len(rows))],
            [carried if at % 2 else None for at in range(len(rows))],
        ]
        fields = zip(columns, self.schema.types, strict=True)
        return pa.table([pa.array(column, kind) for column, kind in fields], schema=self.schema)


def draw_batches(
    rng: random.Random, columns: Columns, span: int, *, nulls: bool = True
) -> tuple[tuple[Row, ...], ...]:
    """Draw rows with random disorder, cut into micro-batches. Some micro-batches are empty.

    Args:
        rng: The source of random numbers.
        columns: The columns of the rows. Times are multiples of its tick.
        span: Approximate distance between the rows of a micro-batch, in microseconds.
        nulls: Whether some rows have no time.
    """
    at, found = rng.randrange(-span, span), []
    if columns.tick == SECOND and rng.random() < 0.3:
        # Close to the last time that a small integer can hold.
        at += columns.times[1] - rng.choice([0, 6]) * span
    disorder = rng.choice([0, span // 2, 4 * span])
    # In whole seconds, times often equal each other, the watermark, or the end of a window.
    grid = max(columns.tick, rng.choice([1, SECOND]))
    for _ in range(rng.randint(1, 7)):
        rows: list[Row] = []
        for _ in range(rng.choice([0, 1, 2, 3, 6])):
            time: int | None = at + rng.randint(-disorder, span)
            time = min(max(time // grid * grid, columns.times[0]), columns.times[1])
            if nulls and rng.random() < 0.05:
                time = None
            value = rng.choice([None, *range(-3, 9)])
            rows.append((time, rng.choice(columns.keys), value))
        found.append(tuple(rows))
        at += rng.choice([0, span, 3 * span])
    return tuple(found)

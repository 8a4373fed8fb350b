"""The specification of a window join of disordered streams.

`quality_joiner` runs it; `loop` explains how.

Results are rows: the time of the result, and all columns of all streams, each prefixed with the
name of its stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from latecomer.labels import Labelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.operators.base import Chunks
    from latecomer.operators.window_join.buffer_size_manager import Quality
    from latecomer.operators.window_join.joiner import WindowJoin
    from latecomer.operators.window_join.quality_joiner import QualityJoiner
    from latecomer.time import TimeColumn

TIME = "time"
"""Name of the column with the time of a result."""


@dataclass(frozen=True, slots=True)
class Input(Labelled):
    """One of the streams."""

    name: str
    """Prefix of the names of its columns in results."""
    time: TimeColumn
    arrival: TimeColumn | None = None


@dataclass(frozen=True, slots=True)
class QualityJoin(Labelled):
    """A window join of disordered streams, by a recall or a wait."""

    fixed = ("streams", "join", "wait", "quality")

    streams: tuple[Input, ...]
    join: WindowJoin
    wait: int | Literal["max", "recall"]
    """Wait in microseconds, "max" for the longest delay so far, or "recall" for a wait that
    follows from the recall."""
    quality: Quality
    is_whole: bool = False
    """Whether all rows are available at once, as in a batch. Nothing is then emitted before the
    end, and nothing is missed."""

    @property
    def target(self) -> float | None:
        """The recall that is asked for; None if the wait does not follow from a recall."""
        return self.quality.recall if self.wait == "recall" else None

    def output_schema(self, schemas: Sequence[pa.Schema]) -> pa.Schema:
        """Return the schema of results, given that of each stream."""
        fields = [pa.field(TIME, schemas[0].field(self.streams[0].time.name).type)]
        for stream, schema in zip(self.streams, schemas, strict=True):
            fields += [field.with_name(f"{stream.name}_{field.name}") for field in schema]
        return pa.schema(fields)

    def needed(self, schemas: Sequence[pa.Schema]) -> list[list[str]]:
        """Return, for each stream, the columns that the join reads."""
        where = self.join.where
        read = [[] for _ in schemas] if where is None else where.columns(schemas)
        return [
            [
                name
                for name in schema.names
                if name in self.join.on.columns(stream) or name in read[stream]
            ]
            for stream, schema in enumerate(schemas)
        ]

    def start(
        self, schemas: Sequence[pa.Schema], chunks: Chunks, saved: bytes | None
    ) -> QualityJoiner:
        from latecomer.operators.window_join.quality_joiner import QualityJoiner

        return QualityJoiner(self, schemas, chunks, saved)

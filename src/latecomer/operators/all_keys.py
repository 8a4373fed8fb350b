"""The operators of a stage, as they serve all keys of a bucket, each with a clock of its own.

Operators behind a sort follow the watermarks of all keys. They get the rows of all keys with the
column `SLOT`, and let no rows of two slots meet. Behind the last of them the column is dropped:

    Sort, Distinct, Keep                    Sort, Distinct, Unslotted, Keep

Behind a sort with several waits, operators run once for each wait. One operator serves all waits,
as it serves all keys: each wait of a key has a slot of its own (`operators.clocked_levels`).

    Levels(…, (UntilNext, Whole)), Keep     EachWait, UntilNext, Whole, Unslotted, Keep
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from latecomer.operators.aggregates.summary import SLOT
from latecomer.operators.base import Operator
from latecomer.operators.levels import LEVEL_FIELDS, Levels, leads, told
from latecomer.operators.sort import Sort
from latecomer.operators.temporal.stateless import OfRows
from latecomer.time import wait_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from latecomer.batch import Batch
    from latecomer.operators.base import Chunks
    from latecomer.operators.clocked_levels import ClockedSlotter


@dataclass(frozen=True, slots=True)
class EachWait(Sort):
    """Release rows in time order once for each wait, with a slot for each key and wait."""

    words = "sort by time; rows come out once for each wait, when its watermark reaches them"

    waits: tuple[int, ...]
    """Waits in microseconds, ascending."""

    def start_clocked(
        self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None
    ) -> ClockedSlotter:
        from latecomer.operators.clocked_levels import ClockedSlotter

        return ClockedSlotter(self.by, schema, chunks, saved, self.waits)


@dataclass(frozen=True, slots=True)
class Unslotted(OfRows):
    """Drop the column `SLOT`, behind the last operator that needs it."""

    words = "drop the slots of keys; nothing is held"

    texts: tuple[str, ...] = ()
    """With a slot for each key and wait: the waits, which become a column."""

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        schema = schema.remove(schema.get_field_index(SLOT))
        return pa.schema([*schema, *LEVEL_FIELDS]) if self.texts else schema

    def of_rows(self, rows: Batch) -> Batch:
        kept = rows.drop_columns(SLOT)
        if not self.texts:
            return kept
        at = rows.column(SLOT).to_numpy() % len(self.texts)
        levels = [kept.filter(pa.array(at == level)) for level in range(len(self.texts))]
        return told(levels, self.texts, self.output_schema(rows.schema))


class Served(NamedTuple):
    """Operators that serve all keys."""

    operators: tuple[Operator, ...]
    leads: Sequence[int] = (0,)
    """How far each watermark of a key behind the first operator is ahead of that of its clock."""
    is_slotted: bool = False
    """Whether the first operator needs the column `SLOT` in its schema."""
    sharing: int = 1
    """Number of operators that share the chunks of the first."""


def for_all_keys(operators: tuple[Operator, ...], columns: tuple[str, ...]) -> Served:
    """Return operators that serve all keys, in place of those that serve one.

    Args:
        operators: Those of a stage. The first is `clocked`.
        columns: The columns of the key that has a clock for each of its values.
    """
    first, *others = operators
    if isinstance(first, Levels) and first.then:
        texts = wait_texts(first.waits, first.texts)
        each = EachWait(first.by, first.waits)
        then = [spec.with_slot(columns) for spec in first.then]
        found = (each, *then, Unslotted(texts), *others)
        return Served(found, leads(first.waits), is_slotted=True, sharing=1 + len(then))
    last = max((at for at, spec in enumerate(operators) if at and not spec.is_by_row), default=-1)
    if last < 0:
        return Served((first.with_slot(columns), *others))
    slotted = (spec.with_slot(columns) for spec in operators[: last + 1])
    return Served((*slotted, Unslotted(), *operators[last + 1 :]), is_slotted=True)

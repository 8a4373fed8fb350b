"""Put rows together that are equal but for their lifetimes, where one begins as the other ends.

    [1, 3) a   [3, 7) a   [8, 9) a      gives      [1, 7) a   [8, 9) a

Of several that end when one begins, that which began first goes on, with that of the new ones which
ends first. This undoes `Chop`.

Rows are equal in all columns, or in those of a key, or if a function of two rows says so: of the
first row of what has been put together so far, and of the row that begins. The columns of what
comes out are those of the first row. So a function that is not transitive, such as a tolerance,
gives the same however the rows are cut into micro-batches.

Cost: with a function, one call for each pair of which one ends where the other begins, until one is
found. It is not compiled: what a row goes on depends on the rows before.

Paper: Chandramouli et al.: Trill (VLDB 2014), Section 6 (Stitch).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.batch import Positions
from latecomer.kernels.order import stable_order
from latecomer.labels import named
from latecomer.operators.aggregates.slices import group_order
from latecomer.operators.base import Chunks, by
from latecomer.operators.temporal.base import Settler, reached, untold
from latecomer.operators.temporal.binary import codes_of
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.edges import Edges, settled
from latecomer.operators.temporal.specification import Temporal
from latecomer.time import FOREVER


@dataclass(frozen=True, slots=True)
class Stitch(Temporal):
    """Put rows together that follow each other."""

    fixed = ("keyed", "equal")

    carries_columns = False
    """Only rows that are equal in all columns are put together, unless a key is given."""

    keyed: tuple[str, ...] | None = None
    """The columns in which rows must be equal; None: in all."""
    equal: Condition | None = None

    def describe(self, schema: pa.Schema) -> str:
        how = f"equal rows{by(self.keyed or ())}"
        asked = f", if {named(self.equal.function)} says so" if self.equal else ""
        return (
            f"stitch {how} that follow each other{asked}; rows are held until the watermark has "
            "passed their ends"
        )

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Stitcher:
        return Stitcher(self, [schema], chunks, saved)


class Stitcher(Settler[Stitch]):
    """A running `Stitch`. Held are rows that may go on: their ends are not behind the watermark."""

    def step(self, due: tuple[Edges, ...], since: int, until: int) -> Edges:
        """Emit what does not go on."""
        rows = settled(self._held[0], untold(due[0]))
        keyed = self._spec.keyed
        (codes,), count = codes_of([(rows, tuple(self._payload.names) if keyed is None else keyed)])
        firsts, lasts = self._chains(rows, codes, count)
        chain, last = rows.take(firsts), rows.take(lasts)
        chain = Edges(chain.at, last.other, last.id, chain.payload)
        # Nothing follows what never ends.
        never = (chain.other == FOREVER) & ~chain.is_open
        known = never | reached(chain.other, until)
        return self.settle(chain, chain.other, known)

    def _chains(self, rows: Edges, codes: Positions, count: int) -> tuple[Positions, Positions]:
        """Find the first and the last row of each chain."""
        from latecomer.kernels.stitches import chains

        if self._spec.equal is not None:
            return self._asked(rows, codes, self._spec.equal)
        order = stable_order(rows.other)
        order = order[group_order(codes[order], count, rows.at[order])]
        codes, ends = codes[order], rows.other[order]
        by_end = group_order(codes, count, ends)
        firsts, lasts = chains(codes, rows.at[order], ends, by_end)
        return order[firsts], order[lasts]

    def _asked(
        self, rows: Edges, codes: Positions, equal: Condition
    ) -> tuple[Positions, Positions]:
        """Find chains row by row, each of which may go on what ends where it begins."""
        firsts: list[int] = []
        lasts: list[int] = []
        ended: dict[tuple[int, int], list[int]] = {}
        holds = equal.of_pairs(rows.payload)
        for row in np.lexsort((rows.other, codes, rows.at)):
            likely = ended.get((codes[row], rows.at[row]), [])
            # They are numbered in the order in which they began.
            chain = next((each for each in sorted(likely) if holds(firsts[each], row)), None)
            if chain is None:
                chain = len(firsts)
                firsts.append(row)
                lasts.append(row)
            else:
                likely.remove(chain)
                lasts[chain] = row
            ended.setdefault((codes[row], rows.other[row]), []).append(chain)
        return np.array(firsts, np.int64), np.array(lasts, np.int64)

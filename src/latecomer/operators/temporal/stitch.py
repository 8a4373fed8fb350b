"""Merge rows that are equal except for their lifetimes, where one begins when the other ends.

    [1, 3) a   [3, 7) a   [8, 9) a      gives      [1, 7) a   [8, 9) a

If several rows end when others begin, the one that began first is continued by the new row that
ends first. This undoes `Chop`.

Rows are equal in all columns, or in those of a key, or if a function of two rows returns True. The
function is given the first row of the chain so far, and the row that begins. A merged row has the
columns of its first row. So a function that is not transitive, such as a tolerance, gives the same
result however the rows are cut into micro-batches.

Cost: with a function, one call for each pair of which one ends where the other begins, until a pair
is found. It is not compiled, because which chain a row continues depends on the rows before it.

Paper: Chandramouli et al.: Trill (VLDB 2014), Section 6 (Stitch).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from latecomer.batch import Positions
from latecomer.kernels.order import stable_order
from latecomer.labels import named
from latecomer.operators.aggregates.slices import group_order
from latecomer.operators.aggregates.summary import slotted
from latecomer.operators.base import Chunks, by
from latecomer.operators.temporal.base import Settler, reached, untold
from latecomer.operators.temporal.binary import codes_of
from latecomer.operators.temporal.conditions import Condition
from latecomer.operators.temporal.edges import Edges, settled
from latecomer.operators.temporal.specification import Temporal
from latecomer.operators.ways import Way
from latecomer.time import FOREVER


@dataclass(frozen=True, slots=True)
class Stitch(Temporal):
    """Merge equal rows that follow each other without a gap."""

    carries_columns = False
    """Without a key, only rows that are equal in all columns are merged."""

    keyed: tuple[str, ...] | None = None
    """Columns in which rows must be equal; None: all columns."""
    equal: Condition | None = None

    def describe(self, schema: pa.Schema) -> str:
        how = f"equal rows{by(self.keyed or ())}"
        asked = f", if {named(self.equal.function)} says so" if self.equal else ""
        return (
            f"stitch {how} that follow each other{asked}; rows are held until the watermark has "
            "passed their ends"
        )

    def with_slot(self, columns: tuple[str, ...]) -> Stitch:
        # Without a key, rows are compared in all columns, and the slot is one of them.
        return self if self.keyed is None else replace(self, keyed=slotted(self.keyed, columns))

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Stitcher:
        return Stitcher(self, [schema], chunks, saved)


class Stitcher(Settler[Stitch]):
    """A running `Stitch`. It holds rows whose ends the watermark has not passed."""

    def step(self, due: tuple[Edges, ...], way: Way) -> Edges:
        """Merge rows; emit new begins, and the ends of rows that are not continued."""
        rows = settled(self._held[0], untold(due[0]))
        keyed = self._spec.keyed
        (codes,), count = codes_of([(rows, tuple(self._payload.names) if keyed is None else keyed)])
        firsts, lasts = self._chains(rows, codes, count)
        chain, last = rows.take(firsts), rows.take(lasts)
        chain = Edges(chain.at, last.other, last.id, chain.payload)
        # No row can continue one that never ends.
        never = (chain.other == FOREVER) & ~chain.is_open
        known = never | reached(chain.other, way.now(chain.payload))
        return self.settle(chain, chain.other, known)

    def _chains(self, rows: Edges, codes: Positions, count: int) -> tuple[Positions, Positions]:
        """Return the first and the last row of each chain."""
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
        """Return the first and the last row of each chain, with a call of `equal` for each pair."""
        firsts: list[int] = []
        lasts: list[int] = []
        ended: dict[tuple[int, int], list[int]] = {}
        holds = equal.of_pairs(rows.payload)
        for row in np.lexsort((rows.other, codes, rows.at)):
            likely = ended.get((codes[row], rows.at[row]), [])
            # Chains are numbered in the order in which they began.
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

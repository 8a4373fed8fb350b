"""Put rows together that are equal but for their lifetimes, where one begins as the other ends.

    [1, 3) a   [3, 7) a   [8, 9) a      gives      [1, 7) a   [8, 9) a

Of several that end when one begins, that which began first goes on, with that of the new ones which
ends first. This undoes `Chop`.

Paper: Chandramouli et al.: Trill (VLDB 2014), Section 6 (Stitch).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from latecomer.operators.base import Chunks
from latecomer.operators.temporal.base import Settler, reached, untold
from latecomer.operators.temporal.binary import codes_of
from latecomer.operators.temporal.edges import Edges, settled
from latecomer.operators.temporal.specification import Temporal
from latecomer.time import FOREVER


@dataclass(frozen=True, slots=True)
class Stitch(Temporal):
    """Put rows together that follow each other."""

    fixed = ()

    carries_columns = False
    """Only rows that are equal in all columns are put together."""
    words = (
        "stitch equal rows that follow each other; rows are held until the watermark has "
        "passed their ends"
    )

    def start(self, schema: pa.Schema, chunks: Chunks, saved: bytes | None = None) -> Stitcher:
        return Stitcher(self, [schema], chunks, saved)


class Stitcher(Settler[Stitch]):
    """A running `Stitch`. Held are rows that may go on: their ends are not behind the watermark."""

    def step(self, due: tuple[Edges, ...], since: int, until: int) -> Edges:
        """Emit what does not go on."""
        from latecomer.kernels.stitches import chains

        rows = settled(self._held[0], untold(due[0]))
        (codes,), _ = codes_of([(rows, tuple(self._payload.names))])
        order = np.lexsort((rows.other, rows.at, codes))
        firsts, lasts = chains(codes[order], rows.at[order], rows.other[order])
        chain, last = rows.take(order[firsts]), rows.take(order[lasts])
        chain = Edges(chain.at, last.other, last.id, chain.payload)
        # Nothing follows what never ends.
        never = (chain.other == FOREVER) & ~chain.is_open
        known = never | reached(chain.other, until)
        return self.settle(chain, chain.other, known)

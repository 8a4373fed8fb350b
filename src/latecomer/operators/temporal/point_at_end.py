"""Turn each lifetime into the instant at which it ends."""

from dataclasses import dataclass

import numpy as np

from latecomer.batch import Batch
from latecomer.operators.temporal.edges import FINAL, Edges
from latecomer.operators.temporal.lifetimes import POINT
from latecomer.operators.temporal.stateless import OfRows
from latecomer.time import FOREVER


@dataclass(frozen=True, slots=True)
class PointAtEnd(OfRows):
    """Let each row count only at its end; rows that never end are left out."""

    fixed = ()

    words = "let rows count at their ends only; nothing is held"

    def of_rows(self, rows: Batch) -> Batch:
        """Return an instant for each known end. Ends in the future wait at the next operator."""
        edges = Edges.of(rows)
        ends = np.where(edges.is_end, edges.at, edges.other)
        points = Edges(ends, ends + POINT, np.full(len(ends), FINAL), edges.payload)
        return points.where(ends < FOREVER).batch()

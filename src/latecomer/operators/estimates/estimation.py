"""Aggregates by group, estimated from a growing part of the rows, and in the end from all.

    rows of a step ─add─▶ states ─merge─▶ with those of the steps before ─answer─▶ estimates

Each row is added once. While rows are missing, states also have what bounds are computed from
(`spread.Spread`). Once all rows have come, this is no longer needed.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, concat, gather
from latecomer.kernels.order import stable_order
from latecomer.operators.aggregates.base import one_array
from latecomer.operators.aggregates.summary import ROWS, Summary
from latecomer.operators.estimates.intervals import Sample, bound_type, estimate, spread_of
from latecomer.operators.estimates.spread import UNIT, Spread

LOW, HIGH = "_low", "_high"
"""Suffixes of the names of bounds."""


@dataclass(frozen=True)
class Estimation:
    """Aggregates of rows that come in parts, by some keys; the specification."""

    summary: Summary
    schema: pa.Schema
    """The columns of the rows."""
    confidence: float

    @cached_property
    def spreads(self) -> list[Spread]:
        """Aggregates that bounds are computed from; a sum and a mean of one column share one."""
        needed = (spread_of(aggregate) for _, aggregate in self.summary.aggregates)
        return list(dict.fromkeys(spread for spread in needed if spread is not None))

    @cached_property
    def sampled(self) -> Summary:
        """The aggregates, followed by those that their bounds are computed from."""
        more = ((f"_lc_spread_{at}", spread) for at, spread in enumerate(self.spreads))
        return Summary(self.summary.keys, (*self.summary.aggregates, *more))

    def add(self, rows: Batch, *, is_last: bool) -> Batch:
        """Return the states of rows. Unless this is the last step, units must be complete."""
        if not is_last:
            rows = gather(rows, stable_order(rows.column(UNIT).to_numpy()))
        nowhere = np.zeros(rows.num_rows, np.int64)
        return (self.summary if is_last else self.sampled).add(rows, nowhere, nowhere)

    def merge(self, parts: list[Batch], *, is_last: bool) -> Batch:
        """Merge the states of each group into one."""
        summary = self.summary if is_last else self.sampled
        schema = summary.state_schema(self.schema).append(pa.field(ROWS, pa.int64()))
        states = concat([part.select(schema.names) for part in parts], schema)
        return summary.merge(states, self.schema)

    def answer(self, states: Batch, share: float) -> Batch:
        """Return the estimates of states: the keys, and for each result the value and its bounds.

        The states were made of a share of the rows: 1 if none are missing.
        """
        columns = {name: states.column(name) for name in self.summary.keys}
        sample = Sample(share, self.confidence)
        for at, (name, aggregate) in enumerate(self.summary.aggregates):
            needed, spread = spread_of(aggregate), []
            if share < 1 and needed is not None:
                behind = len(self.summary.aggregates) + self.spreads.index(needed)
                spread = self._states(states, behind)
            found = estimate(aggregate, self._states(states, at), spread, sample, self.schema)
            columns |= {name: found.value, name + LOW: found.low, name + HIGH: found.high}
        return pa.table(columns, self.answer_schema())

    def answer_schema(self) -> pa.Schema:
        """Return the schema of answers."""
        results = self.summary.result_schema(self.schema)
        fields = [results.field(name) for name in self.summary.keys]
        for name, _ in self.summary.aggregates:
            bound = bound_type(results.field(name).type)
            fields += [results.field(name), pa.field(name + LOW, bound)]
            fields += [pa.field(name + HIGH, bound)]
        return pa.schema(fields)

    def _states(self, states: Batch, at: int) -> list[pa.Array]:
        names = self.sampled.state_names(at, self.schema)
        return [one_array(states.column(name)) for name in names]

"""The inputs and outputs of a bucket in a micro-batch: parcels in, blobs out.

A column of blobs ends at 2 GiB in one Arrow batch. So outputs are cut into parts of about
`PARCEL_BYTES`, and returned in frames of about that size, each of which is a batch of its own.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, decode, encode, pieces
from latecomer.clock.watermark import Clock
from latecomer.errors import withheld
from latecomer.hosts.buckets import told_apart
from latecomer.hosts.late import found_late
from latecomer.hosts.output import Output
from latecomer.hosts.spark.bucket_labels import labels
from latecomer.hosts.spark.parcels import (
    ASSUMED,
    CHECK,
    PARCEL_BYTES,
    PARCEL_ROWS,
    ROWS_OF,
    SOURCES,
    STATES,
    TICK_OF,
)
from latecomer.hosts.tally import TALLY
from latecomer.plan import Plan, Stage

if TYPE_CHECKING:
    import pandas as pd

Part = dict[str, Any]
"""A part of an output as Spark carries it: the name of the output, its rows, and the blob."""


class Delivery(NamedTuple):
    """The input of a bucket in one micro-batch, in order of arrival."""

    outputs: list[Part]
    """Outputs of earlier stages that go on unchanged."""
    inputs: list[list[Batch]]
    """The rows: those of the stream itself, then those of streams that meet it."""
    states: list[Batch]
    checks: list[Batch]
    """Rows to be checked for lateness; they may belong to any bucket."""
    now: int | None
    """Wall clock in microseconds, if the bucket was sent it."""
    told: list[Batch]
    """Newest time and promise of each source, from the rows of all buckets."""

    @classmethod
    def of(cls, parcels: list[dict[str, Any]], stage: Stage) -> "Delivery":
        """Open parcels."""
        ticks = [int(parcel["rows"]) for parcel in parcels if parcel["kind"] == TICK_OF]
        parcels = [parcel for parcel in parcels if parcel["kind"] != TICK_OF]
        delivery = cls([], [[] for _ in stage.branches], [], [], max(ticks, default=None), [])
        for parcel in sorted(parcels, key=lambda parcel: int(parcel["part"])):
            into = {
                "rows": delivery.inputs[parcel["branch"]],
                STATES: delivery.states,
                CHECK: delivery.checks,
                SOURCES: delivery.told,
            }
            if parcel["kind"] in into:
                into[parcel["kind"]].append(decode(parcel["blob"]))
            elif parcel["kind"] == ASSUMED:
                delivery.outputs.append({"output": TALLY, "rows": 0, "blob": parcel["blob"]})
            else:
                blob, rows = parcel["blob"], parcel["rows"]
                delivery.outputs.append({"output": parcel["kind"], "rows": rows, "blob": blob})
        return delivery

    @property
    def is_filled(self) -> bool:
        """Whether there is anything for an operator."""
        return bool(any(self.inputs) or self.states)

    @property
    def schema(self) -> pa.Schema | None:
        """The columns of the rows that came, or that states were made of; None if none came."""
        if self.inputs[0]:
            return self.inputs[0][0].schema
        if self.states:
            written = self.states[0].schema.metadata[ROWS_OF]
            return pa.ipc.read_schema(pa.py_buffer(written))
        return None

    def late(
        self, plan: Plan, clock: Clock, watched: Callable[[Iterator[Output]], Iterator[Output]]
    ) -> Iterator[Part]:
        """Yield the late rows among `checks`; `watched` counts them."""
        for rows in self.checks:
            with withheld(if_redacted=plan.is_redacted):
                found = [*found_late(plan, clock, rows)]
            for output in watched(iter(found)):
                yield from parts(output)


def parts_of(outputs: Iterator[Output], plan: Plan, bucket: int, buckets: int) -> Iterator[Part]:
    """Write the outputs of a bucket as parts for Spark."""
    everywhere = {each.source.late for each in plan.inputs if each.stages[0].everywhere}
    number = int(np.flatnonzero(labels(buckets) == bucket)[0])
    for output in outputs:
        # Every bucket has a copy of these late rows, and the first one reports them.
        if number == 0 or output.name not in everywhere:
            yield from parts(told_apart(output, plan, number, buckets))


def parts(output: Output) -> Iterator[Part]:
    """Cut an output into parts, none of them too large."""
    if output.batch is None:
        yield {"output": output.name, "rows": output.rows, "blob": b""}
        return
    for piece in pieces(output.batch, PARCEL_ROWS, PARCEL_BYTES):
        yield {"output": output.name, "rows": piece.num_rows, "blob": encode(piece)}


def frames(found: Iterable[Part]) -> Iterator["pd.DataFrame"]:
    """Put parts into frames, with a new one as soon as the last one is large."""
    import pandas as pd

    waiting: list[Part] = []
    size = 0
    for part in found:
        waiting.append(part)
        size += len(part["blob"])
        if size >= PARCEL_BYTES:
            yield pd.DataFrame(waiting)
            waiting, size = [], 0
    if waiting:
        yield pd.DataFrame(waiting)

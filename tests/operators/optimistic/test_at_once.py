"""Steps that answer when items come: here, one that only marks rows."""

from __future__ import annotations

import pyarrow as pa

from latecomer.hosts.local import MemoryChunks
from latecomer.operators.optimistic.changelog import Changelog
from latecomer.operators.optimistic.items import MARKS
from latecomer.time import FOREVER

SCHEMA = pa.schema([("time", pa.int64()), *MARKS])


def test_time_going_on_brings_nothing_out() -> None:
    running = Changelog().start(SCHEMA, MemoryChunks())

    emission = running.advance(FOREVER)

    assert emission.ready.num_rows == emission.late.num_rows == 0
    assert emission.ready.schema == Changelog().output_schema(SCHEMA)
    assert emission.late.schema == SCHEMA


def test_there_is_nothing_to_hold_to_write_down_or_to_wake_up_for() -> None:
    running = Changelog().start(SCHEMA, MemoryChunks())

    assert (running.held, running.save(), running.due()) == (0, b"", None)
    assert running.stops(7) == [7]

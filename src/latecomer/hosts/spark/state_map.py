"""Chunks in Spark's state store, in values that it can take.

All operators of a stage share one map state, by number of operator and number of chunk. A value
goes to Spark in one message, which cannot exceed 2 GiB, and most operators keep all that they hold
in one chunk. So a chunk larger than `VALUE_BYTES` is written as several values, whose numbers are
`PIECE` apart. The number of values is known without asking Spark: the bucket saves `several`, which
is empty unless there are very large chunks.
"""

from collections.abc import Sequence
from typing import Any

from latecomer.batch import Batch, concat, decode, encode, pieces

VALUE_BYTES = 256 << 20
"""Approximate size limit of a value."""
PIECE = 1 << 48
"""Distance between the numbers of the pieces of a chunk; operators number chunks below it."""
STAGE = -1
"""Number in place of an operator's, for a saved state of the stage too large for one value."""

Entries = list[tuple[int, int, int]]


class StateMap:
    """The map state of a stage, and a list of its chunks that are in several pieces."""

    def __init__(self, state: Any, several: Sequence[Sequence[int]] = ()) -> None:
        """Begin with no such chunks, or with the `several` that was saved."""
        self._state = state
        self._counts = {(operator, number): count for operator, number, count in several}

    @property
    def several(self) -> Entries:
        """Operator, number and pieces of each chunk that has more than one piece."""
        return [(*key, count) for key, count in self._counts.items()]

    def read(self, operator: int, number: int) -> list[bytes]:
        """Read the pieces of a chunk."""
        count = self._counts.get((operator, number), 1)
        keys = [(operator, number + at * PIECE) for at in range(count)]
        return [self._state.getValue(key)[0] for key in keys]

    def write(self, operator: int, number: int, blobs: Sequence[bytes]) -> None:
        """Write the pieces of a chunk, and replace all pieces of an older one of its number."""
        before = self._counts.pop((operator, number), 1)
        for at, blob in enumerate(blobs):
            self._state.updateValue((operator, number + at * PIECE), (blob,))
        for at in range(len(blobs), before):
            self._state.removeKey((operator, number + at * PIECE))
        if len(blobs) > 1:
            self._counts[operator, number] = len(blobs)

    def remove(self, operator: int, number: int) -> None:
        """Remove all pieces of a chunk."""
        for at in range(self._counts.pop((operator, number), 1)):
            self._state.removeKey((operator, number + at * PIECE))

    def read_stage(self, stage: bytes) -> bytes:
        """Return the saved state of the stage: `stage`, unless it was too large for one value."""
        return b"".join(self.read(STAGE, 0)) if (STAGE, 0) in self._counts else stage

    def write_stage(self, saved: bytes) -> bytes:
        """Return the saved state of the stage for its own value; write it here if too large."""
        if (STAGE, 0) in self._counts:
            self.remove(STAGE, 0)
        if len(saved) <= VALUE_BYTES:
            return saved
        starts = range(0, len(saved), VALUE_BYTES)
        self.write(STAGE, 0, [saved[start : start + VALUE_BYTES] for start in starts])
        return b""


class StateChunks:
    """The chunks of one operator, in Spark's state store."""

    def __init__(self, state: StateMap, operator: int) -> None:
        """Use the map state that all operators of a stage share."""
        self._state = state
        self._operator = operator

    def get(self, number: int) -> Batch:
        return together([decode(blob) for blob in self._state.read(self._operator, number)])

    def put(self, number: int, rows: Batch) -> None:
        parts = [*pieces(rows, rows.num_rows, VALUE_BYTES)] or [rows]
        self._state.write(self._operator, number, [encode(part, "lz4") for part in parts])

    def drop(self, number: int) -> None:
        self._state.remove(self._operator, number)


def together(found: Sequence[Batch]) -> Batch:
    """Put the pieces of a chunk together."""
    return found[0] if len(found) == 1 else concat(found, found[0].schema)

"""What running steps have in common that answer when items come, and not when time goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latecomer.operators.base import Emission, Running

if TYPE_CHECKING:
    import pyarrow as pa


class Responder(Running):
    """A running step that holds nothing, unless it says so, and never releases anything."""

    def __init__(self, given: pa.Schema, made: pa.Schema) -> None:
        """Begin; say what items look like before the step, and behind it."""
        self._schema = made
        self._nothing = given.empty_table()

    @property
    def held(self) -> int:
        """How many items are held."""
        return 0

    def advance(self, watermark: int) -> Emission:
        """It does not mind the time."""
        return self._silence()

    def _silence(self) -> Emission:
        return Emission(self._schema.empty_table(), self._nothing)

"""What stands before the state of a stage: who wrote it, and for which query.

Whoever goes on with a checkpoint must run what has written it: the same operators on the same
columns, and where each key has a clock of its own, in the same way.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from latecomer.errors import StateFormatError

FORMAT = 1
"""Version of the saved state. Raise it when an older state can no longer be carried on."""

APART, TOGETHER, ADAPTING, GATHERED = b"clocks", b"clocks together", b"recall", b"gathered"
"""The first line: by it the stage of `hosts.clocked`, `hosts.together`, `hosts.adapting` or
`hosts.gathered` knows its own state."""

_NAMES = {
    None: "one clock",
    APART: "operators and a clock for each key",
    TOGETHER: "one operator, and a clock for each key",
    GATHERED: "a join of disordered streams",
    ADAPTING: "waits that follow from a recall",
}


def opened(saved: bytes, mark: bytes | None) -> bytes:
    """Take off the mark of who wrote a state; None is the stage with one clock, which has none.

    Raises:
        StateFormatError: Somebody else wrote it.
    """
    first, _, rest = saved.partition(b"\n")
    found = first if first in _NAMES else None
    if found != mark:
        raise _changed(_NAMES[found], _NAMES[mark])
    return saved if mark is None else rest


def check_format(number: int) -> None:
    """Refuse a state in another format.

    Raises:
        StateFormatError: It is in another one.
    """
    if number != FORMAT:
        message = (
            f"the checkpoint holds state in format {number}; this version of "
            f"Latecomer reads format {FORMAT}.\n"
            "Hint: go on with the version that wrote it, or start with a new checkpoint."
        )
        raise StateFormatError(message)


def check_query(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to go on with another query.

    Raises:
        StateFormatError: Some part of it has changed.
    """
    for part, value in before.items():
        if now[part] != value:
            raise _changed(f"{part} {value}", str(now[part]))


def check_columns(held: pa.Schema, schema: pa.Schema | None) -> None:
    """Refuse rows with other columns than those that are held.

    Raises:
        StateFormatError: They have others.
    """
    if schema is not None and not schema.equals(held):
        message = (
            f"the checkpoint holds rows with the columns {_columns(held)}; "
            f"the stream now has {_columns(schema)}.\n"
            "Hint: select the same columns as before, or start with a new checkpoint."
        )
        raise StateFormatError(message)


def _changed(before: str, now: str) -> StateFormatError:
    return StateFormatError(
        f"the checkpoint was written with {before}; the query now has {now}.\n"
        "Hint: a changed query needs a new checkpoint."
    )


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f'"{field.name}" {field.type}' for field in schema)

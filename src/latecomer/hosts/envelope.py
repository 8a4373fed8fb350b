"""The saved state of a stage: the query that wrote it, and its parts.

    {"format": 4, "query": {…}, "slots": […], "sizes": […], "digest": "…"}     one line of JSON
    columns │ clock policy │ chain │ chain │ …                   bytes, as long as `sizes` says

The digest covers everything else. Without it, some damaged states would be read as valid ones.

A query that goes on with a checkpoint must be the query that wrote it: the same operators on the
same columns, by the same clock. Any other query is refused, with an error that names the change,
unless `start` has found that the query can go on with it (`Resumption`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import pyarrow as pa

from latecomer.batch import typed_names
from latecomer.errors import StateFormatError
from latecomer.hosts.differences import OTHER_WAITS, changed, changed_operators
from latecomer.hosts.identity import changes, column_changes, named_columns
from latecomer.operators.base import NewColumns

FORMAT = 4
"""Version of the saved state. Raise it when an older state can no longer be carried on."""
_SHIFTED = 2
"""The last format whose clock in Spark was always 2,000 years ahead."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """The changes that are allowed since a state was written."""

    former: Sequence[int] = ()
    """Waits with which the state may have been written, besides the query's own."""
    others: Sequence[Sequence[int]] = ()
    """The same for each stream that meets this one."""
    new_columns: NewColumns = "refused"
    """Treatment of columns that the held rows do not have."""


_THE_SAME = Resumption()


@dataclass(frozen=True, slots=True)
class Envelope:
    """The saved state of a stage."""

    query: Mapping[str, Any]
    """The parts of the query that must not change during the life of a checkpoint."""
    schemas: Sequence[pa.Schema]
    """The columns of the rows of each stream."""
    policy: bytes
    chains: Mapping[int, bytes]
    """The state of each chain, by the slot of its clock."""

    def write(self) -> bytes:
        """Return the state as bytes."""
        columns = joined([schema.serialize().to_pybytes() for schema in self.schemas])
        pieces = [columns, self.policy, *self.chains.values()]
        header = {
            "format": FORMAT,
            "query": self.query,
            "slots": list(self.chains),
            "sizes": list(map(len, pieces)),
        }
        return joined(pieces, {**header, "digest": _digest(header, pieces)})

    @classmethod
    def read(
        cls,
        saved: bytes,
        query: Mapping[str, Any],
        schemas: Sequence[pa.Schema | None],
        allowed: Resumption = _THE_SAME,
    ) -> Envelope:
        """Read a state, for a query and the columns that its rows have now.

        Raises:
            StateFormatError: It is damaged or in another format, or was written by another query
                or for rows with other columns.
        """
        header, (columns, policy, *chains) = _split(saved)
        _check_query(header["query"], query, allowed)
        held = [pa.ipc.read_schema(pa.py_buffer(part)) for part in parts(columns)]
        for one, schema in zip(held, schemas, strict=True):
            _check_columns(one, schema, allowed)
        return cls(query, held, policy, dict(zip(header["slots"], chains, strict=True)))


def joined(pieces: Sequence[bytes], header: Mapping[str, Any] | None = None) -> bytes:
    """Return pieces of state as one, behind a line of JSON with the length of each."""
    sizes = [len(piece) for piece in pieces]
    return json.dumps({**(header or {}), "sizes": sizes}).encode() + b"\n" + b"".join(pieces)


def parts(written: bytes) -> list[bytes]:
    """Return the pieces that `joined` has put together."""
    first, _, rest = written.partition(b"\n")
    stops = [0, *accumulate(json.loads(first)["sizes"])]
    return [rest[start:stop] for start, stop in pairwise(stops)]


def _split(saved: bytes) -> tuple[dict[str, Any], list[bytes]]:
    first, _, _ = saved.partition(b"\n")
    try:
        header = json.loads(first)
        found = header["format"]
    except (ValueError, TypeError, KeyError):
        # Format 1 began with a word unless there was just one clock.
        header, found = {}, 1 if first.isalpha() else None
    if found != FORMAT:
        if not isinstance(found, int) or found < 1:
            raise _damaged(saved)
        why = (
            " Older versions used a clock in Spark that is 2,000 years ahead, and it cannot be "
            "set back."
        )
        raise StateFormatError(
            f"the checkpoint holds state in format {found}; this version of Latecomer reads format "
            f"{FORMAT}.{why if found <= _SHIFTED else ''}\n"
            "Hint: continue with the version that wrote it, or start with a new checkpoint."
        )
    try:
        digest, pieces = header.pop("digest"), parts(saved)
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(saved) from error
    if digest != _digest(header, pieces):
        raise _damaged(saved)
    return header, pieces


def _digest(header: Mapping[str, Any], pieces: Sequence[bytes]) -> str:
    made = hashlib.blake2b(json.dumps(header).encode(), digest_size=8)
    for piece in pieces:
        made.update(piece)
    return made.hexdigest()


def _damaged(saved: bytes) -> StateFormatError:
    return StateFormatError(
        f"the checkpoint holds {len(saved):,} bytes of state that are damaged.\n"
        "Hint: restore the checkpoint from a backup, or start with a new one."
    )


def _check_query(before: Mapping[str, Any], now: Mapping[str, Any], allowed: Resumption) -> None:
    for name, was, is_now in changes(before, now):
        if name == "wait" and was in allowed.former:
            continue
        if name == OTHER_WAITS and all(
            each in one for each, one in zip(was, allowed.others, strict=True)
        ):
            continue
        is_labels = name == "operators" and is_now is not None
        told = changed_operators(was, is_now) if is_labels else [changed(name, was, is_now)]
        raise StateFormatError(
            f"the checkpoint was written by another query: {'; '.join(told)}.\n"
            "Hint: a changed query needs a new checkpoint; start() can continue after some "
            "changes, to_df() cannot (docs/checkpoints.md)."
        )


def _check_columns(held: pa.Schema, schema: pa.Schema | None, allowed: Resumption) -> None:
    if schema is None or schema.equals(held):
        return
    new = allowed.new_columns
    if new == "refused" or [*column_changes(named_columns(held), named_columns(schema), new)]:
        raise StateFormatError(
            f"the checkpoint holds rows with the columns {typed_names(held)}; the stream now has "
            f"{typed_names(schema)}.\n"
            "Hint: select the same columns as before, or start with a new checkpoint; start() can "
            "continue with columns that are added, to_df() cannot."
        )

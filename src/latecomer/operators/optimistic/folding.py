"""Run a function over the items of each key, from the state before them on.

The function is called row by row; or, where state, outputs and the columns that it reads are
numbers, compiled and run over all keys in one loop (`latecomer.operators.optimistic.compiled`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from latecomer.batch import Batch, Mask, Positions
from latecomer.errors import OptionError, UpdateError
from latecomer.labels import named
from latecomer.operators.optimistic import compiled
from latecomer.operators.optimistic.functions import Made, as_text, failed, rows_of
from latecomer.operators.optimistic.replays import Replay
from latecomer.operators.optimistic.written import frozen, thawed


@dataclass(frozen=True, slots=True)
class Folded:
    """What has come out of items that were run again."""

    is_run: Mask
    """Of each item: whether it was run. The rest of a key is as it was."""
    states: list[bytes | None]
    """The states to keep, of each item that was run."""
    is_redone: Mask
    """Of each item: whether its outputs are these."""
    counts: Positions
    """How many outputs each of those has."""
    made: Batch
    """All outputs."""


def fold(
    update: Callable[[Any, Any], tuple[Any, Any]],
    outputs: pa.Schema,
    rows: Batch,
    replay: Replay,
    begins: Sequence[bytes],
    old: Sequence[bytes | None],
) -> Folded:
    """Run a function over items.

    Args:
        update: The function.
        outputs: The columns of what it makes.
        rows: The items, as the function is shown them.
        replay: Which are of one key, and what is asked for.
        begins: The state that each key begins with.
        old: The state that was behind an item before, where it would be the same again if nothing
            had changed.

    Raises:
        UpdateError: The function failed, or made what it must not.
    """
    found = compiled.fold(update, outputs, rows, replay, begins)
    if found is not None:
        states, counts, made = found
        return Folded(np.ones(rows.num_rows, np.bool_), states, replay.is_anew, counts, made)
    given, listed = rows_of(rows), Made(update, outputs)
    is_run = np.zeros(len(given), np.bool_)
    is_kept, is_anew = replay.is_kept.tolist(), replay.is_anew.tolist()
    states = []
    for begin, (start, stop) in zip(begins, pairwise(replay.slices.bounds.tolist()), strict=True):
        state, end = thawed(begin), stop
        for i in range(start, stop):
            row = given[i]
            try:
                returned: object = update(state, row)
            except Exception as error:
                raise failed(update, error, row, f" and the state {state!r}") from error
            if not (isinstance(returned, tuple) and len(returned) == 2):  # noqa: PLR2004
                raise _no_pair(update, returned, row)
            state, out = returned
            if is_anew[i]:
                listed.add(row, out)
            states.append(_kept(update, state, row) if is_kept[i] else None)
            if is_kept[i] and states[-1] == old[i]:
                # All that follow would be as they were.
                end = i + 1
                break
        is_run[start:end] = True
    counts = np.array(listed.counts, np.int64)
    return Folded(is_run, states, is_run & replay.is_anew, counts, listed.table())


def _no_pair(update: Callable[..., object], returned: object, row: Any) -> UpdateError:  # noqa: ANN401
    return UpdateError(
        f"{named(update)} must return a state and outputs; it returned {returned!r} for "
        f"{as_text(row)}.\n"
        "Hint: for example return total, [(total,)]; without outputs return total, None."
    )


def _kept(update: Callable[..., object], state: object, row: Any) -> bytes:  # noqa: ANN401
    try:
        return frozen(state)
    except OptionError as error:
        raise UpdateError(f"{named(update)} was given {as_text(row)}; {error}") from error

"""Run a function over the items of each key, beginning with the state before them.

If state, outputs and the columns that it reads are numbers, the function is compiled and run over
all keys in one loop (`latecomer.operators.optimistic.compiled`). Otherwise it is called row by row.
"""

from collections.abc import Callable
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
    """The states and outputs of items that were run again."""

    is_run: Mask
    """For each item, whether it was run. The other items of a key have not changed."""
    states: pa.BinaryArray
    """The state of each item that was run and whose state is kept."""
    is_redone: Mask
    """For each item, whether it has new outputs."""
    counts: Positions
    """Number of outputs of each item that has new ones."""
    made: Batch
    """All new outputs."""


def fold(
    update: Callable[[Any, Any], tuple[Any, Any]],
    outputs: pa.Schema,
    rows: Batch,
    replay: Replay,
    begins: pa.BinaryArray,
    old: pa.BinaryArray,
) -> Folded:
    """Run a function over items.

    Args:
        update: The function.
        outputs: The columns of its outputs.
        rows: The items to run, with the columns that the function sees.
        replay: The items of each key, and which states and outputs are needed.
        begins: The state that each key begins with.
        old: The kept state of each item before the change, if all changes are before the item. If
            the new state is equal to it, the items after it need not be run.

    Raises:
        UpdateError: The function failed, or returned an invalid result.
    """
    found = compiled.fold(update, outputs, rows, replay, begins)
    if found is not None:
        kept, counts, made = found
        return Folded(np.ones(rows.num_rows, np.bool_), kept, replay.is_anew, counts, made)
    given, listed = rows_of(rows), Made(update, outputs)
    is_run = np.zeros(len(given), np.bool_)
    is_kept, is_anew = replay.is_kept.tolist(), replay.is_anew.tolist()
    states: list[bytes] = []
    before, bounds = old.to_pylist(), pairwise(replay.slices.bounds.tolist())
    for begin, (start, stop) in zip(begins.to_pylist(), bounds, strict=True):
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
            if is_kept[i]:
                states.append(_kept(update, state, row))
                if states[-1] == before[i]:
                    # The items that follow would not change.
                    end = i + 1
                    break
        is_run[start:end] = True
    counts = np.array(listed.counts, np.int64)
    written = pa.array(states, pa.binary())
    return Folded(is_run, written, is_run & replay.is_anew, counts, listed.table())


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

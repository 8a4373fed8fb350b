"""States of users' functions as bytes, and back.

A state of None, booleans, numbers, strings and bytes, and of tuples, lists, dicts and sets of such,
is written as JSON, from which reading can run no code:

    0.5                 j0.5
    (1, [True])         j["tuple", 1, ["list", true]]

Any other state is pickled. **Reading a pickle can run any code**, so a person who can write to the
checkpoint of such a query can do all that its workers can do; see `docs/checkpoints.md`.
"""

import json
import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from latecomer.errors import OptionError, StateFormatError
from latecomer.operators.aggregates.slices import Values
from latecomer.operators.temporal.compiling import LARGEST

_JSON, _PICKLE = b"j", b"p"
_TUPLE = 'j["tuple", '
"""What a tuple that is not empty begins with, as it is written."""
_KINDS: dict[str, type[Any]] = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}


class Numbers(NamedTuple):
    """States as columns of numbers."""

    columns: list[Values]
    is_tuple: bool

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(column.dtype.str for column in self.columns)


def frozen(state: object) -> bytes:
    """Return a state as bytes.

    Raises:
        OptionError: The state cannot be written.
    """
    try:
        return _JSON + json.dumps(_plain(state, set())).encode()
    except (_NotPlainError, RecursionError):
        pass
    try:
        return _PICKLE + pickle.dumps(state, 5)
    except Exception as error:  # a state may be of any class, which may fail in any way
        raise OptionError(
            f"a state must be one that can be saved; got {state!r}: {error}.\n"
            "Hint: use numbers, strings, tuples, lists and dicts of these, or a class of a "
            "module."
        ) from error


def thawed(written: bytes) -> Any:  # noqa: ANN401 - any state
    """Return the state that was written as bytes.

    Raises:
        StateFormatError: It cannot be read.
    """
    kind, rest = written[:1], written[1:]
    try:
        if kind == _JSON:
            return _built(json.loads(rest))
        if kind == _PICKLE:
            return pickle.loads(rest)  # noqa: S301 - see above
    except Exception as error:
        raise _unreadable(f"{type(error).__name__}") from error
    raise _unreadable(f"it begins with {kind!r}")


def frozen_numbers(columns: Sequence[Values], *, is_tuple: bool) -> pa.BinaryArray:
    """Return many states as bytes: what `frozen` returns for each.

    Args:
        columns: The numbers or booleans that states are made of, by their place in a state.
        is_tuple: Whether a state is a tuple of one number of each column, or the number itself.
    """
    parts = [_texts(column) for column in columns]
    begin, end = (_TUPLE, "]") if is_tuple else ("j", "")
    states = pc.binary_join_element_wise(*parts, ", ")
    return pc.binary_join_element_wise(begin, states, end, "").cast(pa.binary())


def _texts(numbers: Values) -> pa.StringArray:
    """Return numbers as JSON writes them."""
    if numbers.dtype.kind == "f":
        # Arrow writes 1.0 as 1. Numbers contain no commas, so their list can be split again.
        texts = json.dumps(numbers.tolist())[1:-1].split(", ") if len(numbers) else []
        return pa.array(texts, pa.string())
    return pa.array(numbers).cast(pa.string())


def thawed_numbers(written: pa.BinaryArray) -> Numbers | None:
    """Return many states of numbers, as columns of integers or floats.

    Returns:
        None if a state is anything else, has a boolean, or has a number that is not exact as a
        float. `thawed_all` reads all states.
    """
    if not len(written) or written.null_count:
        return None
    is_tuple = written[0].as_py().startswith(_TUPLE.encode())
    begin, end = (_TUPLE, "]") if is_tuple else ("j", "")
    try:
        texts = written.cast(pa.string())
        if not pc.all(pc.starts_with(texts, begin)).as_py():
            return None
        if not is_tuple:
            columns = [pc.utf8_slice_codeunits(texts, 1)]
        elif pc.all(pc.ends_with(texts, end)).as_py():
            inner = pc.utf8_slice_codeunits(texts, len(begin), -1)
            parts = pc.split_pattern(inner, ", ")
            width = pc.list_value_length(parts)[0].as_py()
            # A nested state is cut within its parts, of which the first is not a number.
            flat = parts.cast(pa.list_(pa.string(), width)).flatten()
            columns = [flat.take(pa.array(np.arange(at, len(flat), width))) for at in range(width)]
        else:
            return None
        found = [_read(column) for column in columns]
    except pa.ArrowInvalid:
        return None
    # Not np.abs(column), which is negative for the smallest integer.
    is_exact = all(((column >= -LARGEST) & (column <= LARGEST)).all() for column in found)
    return Numbers(found, is_tuple) if is_exact else None


def _read(texts: pa.StringArray) -> Values:
    try:
        return texts.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return texts.cast(pa.float64()).to_numpy()


def thawed_all(written: Sequence[bytes]) -> list[Any]:
    """Return many states that were written as bytes: what `thawed` returns for each.

    Raises:
        StateFormatError: One cannot be read.
    """
    try:
        if all(each.startswith(_JSON) for each in written):
            found = json.loads(b"[" + b",".join(each[1:] for each in written) + b"]")
            if len(found) == len(written):
                return [_built(value) if isinstance(value, list) else value for value in found]
    except (ValueError, KeyError, TypeError):
        pass  # reading them one by one finds the one that cannot be read
    return [thawed(each) for each in written]


def _unreadable(why: str) -> StateFormatError:
    return StateFormatError(
        f"the checkpoint holds a function's state that cannot be read: {why}.\n"
        "Hint: a class must be in the same module as when the state was written."
    )


class _NotPlainError(Exception):
    """A state, or a part of it, is of another class."""


def _plain(state: Any, seen: set[int]) -> Any:  # noqa: ANN401
    """Return a state as JSON values. Types that JSON lacks become lists that begin with their name.

    Args:
        state: The state, or a part of it.
        seen: The ids of lists, dicts and sets so far. A state with the same one twice is refused,
            because JSON would make two of it.
    """
    kind = type(state)
    if state is None or kind in (bool, int, float, str):
        return state
    if kind is bytes:
        return ["bytes", state.hex()]
    if kind not in (dict, *_KINDS.values()) or id(state) in seen:
        raise _NotPlainError
    if kind in (list, dict, set):
        seen.add(id(state))
    if kind is dict:
        return ["dict", *([_plain(k, seen), _plain(v, seen)] for k, v in state.items())]
    parts = [_plain(each, seen) for each in state]
    return [kind.__name__, *(sorted(parts, key=json.dumps) if kind in (set, frozenset) else parts)]


def _built(value: Any) -> Any:  # noqa: ANN401
    if not isinstance(value, list):
        return value
    name, *parts = value
    if name == "bytes":
        return bytes.fromhex(parts[0])
    if name == "dict":
        return {_built(key): _built(one) for key, one in parts}
    return _KINDS[name](map(_built, parts))

"""Whether a user's function compiles; if not, an error with the reason and the line."""

import dis
import inspect
import linecache
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeGuard

from latecomer.errors import ConditionError

LARGEST = 2**53
"""Integers up to this are exact as floats, too; see `operators.temporal.exact`."""
CALLED = "is not compiled, because its result might differ from Python's"
"""Part of the message for a function that is not compiled, but called instead."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""Numba colours its errors where the package colorama is installed."""
_PLACE = re.compile(r"(?:at|from) (\S.*?) \((\d+)\)")
_BY_PLACE = ("BINARY_SUBSCR", "BINARY_SLICE", "UNPACK_SEQUENCE", "UNPACK_EX", "GET_ITER")
_NOISE = ("Failed in nopython", "During:", "File ", "Raised from")


def is_compilable(function: Callable[..., Any]) -> TypeGuard[FunctionType]:
    """Return True if a function reads the columns of its rows by name, so that it may be compiled.

    A compiled row has only the columns with numbers, so places in it are not those of the columns.
    """
    return isinstance(function, FunctionType) and _is_by_name(function.__code__)


@lru_cache(maxsize=64)
def _is_by_name(code: CodeType) -> bool:
    steps = dis.get_instructions(code)
    return not any(step.opname in _BY_PLACE or step.argrepr == "[]" for step in steps)


@lru_cache(maxsize=64)
def columns_read(code: CodeType) -> frozenset[str] | None:
    """Return the names of all columns that a function of rows may read; None if not known.

    They are known if rows are used in one way only: to read an attribute.
    """
    rows = set(code.co_varnames[: code.co_argcount])
    has_others = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if has_others or rows & set(code.co_cellvars):
        return None
    names: set[str] = set()
    is_row = False
    for step in dis.get_instructions(code):
        if is_row and step.opname != "LOAD_ATTR":
            return None
        if is_row:
            names.add(step.argval)
        is_row = step.opname.startswith("LOAD_FAST") and step.argval in rows
        # Steps that have two variables name them in a tuple.
        used = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        if "FAST" in step.opname and not is_row and not rows.isdisjoint(used):
            return None
    # A row names columns by their places, such as `_1`, if Python cannot have their names.
    return None if any(name.startswith("_") for name in names) else frozenset(names)


def not_compiled() -> tuple[type[Exception], ...]:
    """Return the errors that Numba raises for functions that do not compile."""
    from numba.core.errors import NumbaError, UnsupportedBytecodeError

    return NumbaError, UnsupportedBytecodeError


def check_arguments(function: Callable[..., Any], names: tuple[str, ...]) -> None:
    """Refuse a condition that does not take one row of each stream.

    Raises:
        ConditionError: It takes more or fewer rows.
    """
    try:
        inspect.signature(function).bind(*names)
    except TypeError as error:
        raise ConditionError(
            f"the condition is called with one row of each of {', '.join(names)}, in this order: "
            f"{error}.\nHint: for example lambda {', '.join(names)}: ..."
        ) from None
    except ValueError:
        # The function has no signature.
        return


def explained(error: Exception, function: Callable[..., Any], columns: str) -> ConditionError:
    """Return an error with the reason and the line for which a condition does not compile.

    Args:
        error: The error that the compiler raised.
        function: The condition.
        columns: The columns that a condition may use, in words.
    """
    text = _COLOUR.sub("", str(error))
    path = inspect.getsourcefile(function) or ""
    lines = [line.strip() for line in text.splitlines()]
    reason = next((line for line in lines if line and not line.startswith(_NOISE)), text)
    reason = re.sub(
        r" of type row_\d+\(.*| Raised$", "", _PLACE.sub("", reason).rstrip(". :")
    ).rstrip(". :")
    # The innermost place comes first; places in the loop around it have no file.
    places = [(file, int(at)) for file, at in _PLACE.findall(text) if file == path]
    number = places[0][1] if places else function.__code__.co_firstlineno
    source = linecache.getline(path, number).strip()
    shown = f"\n  {Path(path).name}, line {number}: {source}" if source else ""
    return ConditionError(
        f"the condition cannot be compiled: {reason}.{shown}\n"
        f"Hint: it may use arithmetic, comparisons and math on {columns}. Compare other columns "
        "with on=, or compute a number or a boolean from them first, with with_columns."
    )

"""Labels: text that must stay the same during the life of a checkpoint.

A query that continues from a checkpoint must compute the same as the query that wrote it. So each
operator and each aggregate has a label, which is saved and compared:

    Aggregation(windows=Windows(size=10, hop=10, origin=0), summaries=[…Sum(column="price * 2")…])

Labels outlive releases, so they are not made of the `repr` of an object, but of its fields: of
those that its class names in `fixed`, or else of all. A part that is None, False or empty is left
out: **a new option that is off by default leaves all older labels as they were.**
`tests/test_labels.py` holds the label of every operator and aggregate, so that no change goes
unnoticed.

The label of a Python function has the version that the user gives with `versioned`. Without one
it has a hash of the function's code, constants, defaults, and of the immutable values and the
functions that it reads. Bytecode differs between versions of Python, so hashes are only compared
within the same version.
"""

import dis
import hashlib
import json
import re
import sys
from collections.abc import Callable
from dataclasses import fields
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import pyarrow as pa

from latecomer.errors import OptionError
from latecomer.time import TimeColumn

FORMAT = 1
"""Version of the label format. Raise it when older labels can no longer be compared."""

_VERSION = "_latecomer_version"
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
MARK = re.compile(r"<version [\w.+-]+>|<\d+\.\d+ code [0-9a-f]{16}>")
_PLAIN = (bool, int, float, complex, str, bytes, Decimal, date, timedelta, type(None), type(...))

Called = TypeVar("Called", bound=Callable[..., Any])


class Labelled:
    """A dataclass whose objects have labels."""

    __slots__ = ()

    fixed: ClassVar[tuple[str, ...] | None] = None
    """The fields of the label, in order; None if they are all fields. Their names are part of the
    label, and so are saved."""

    @property
    def label(self) -> str:
        """Text that must stay the same during the life of a checkpoint."""
        names = self.fixed
        if names is None:
            names = tuple(each.name for each in fields(self))  # type: ignore[arg-type]
        parts = ((name, self.part(name)) for name in names)
        told = (f"{name}={_text(value)}" for name, value in parts if not _is_off(value))
        return f"{type(self).__name__}({', '.join(told)})"

    def part(self, name: str) -> object:
        """Return the value that the label has for a field: the field's own, unless overridden."""
        return getattr(self, name)


def _is_off(value: object) -> bool:
    return value is None or value is False or (isinstance(value, tuple | str) and not value)


def _text(value: Any) -> str:  # noqa: ANN401, PLR0911
    if isinstance(value, Labelled):
        return value.label
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float | type(None)):
        return repr(value)
    if isinstance(value, tuple | pa.Schema):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, TimeColumn):
        return f"{_text(value.name)}{f' in {value.unit}' if value.unit else ''}"
    if isinstance(value, pa.Field):
        return f"{_text(value.name)} {value.type}"
    if isinstance(value, pa.DataType):
        return str(value)
    if callable(value):
        return function_label(value)
    raise TypeError(f"{value!r} cannot be part of a label")


def versioned(function: Called, *, version: str) -> Called:
    """Give a function a version, by which a checkpoint knows it.

    A query continues with its checkpoint as long as the version is the same, whatever the function
    does. Without a version the code must be the same, and code can only be compared within one
    version of Python.

    Args:
        function: The function for `stateful`, `flat_map` or `where`; or a class of aggregates.
        version: Letters, digits, "_", ".", "+" and "-". Change it whenever answers change.

    Raises:
        OptionError: The version has other characters, or the function cannot be given one.
    """
    if not re.fullmatch(r"[\w.+-]+", str(version)):
        raise OptionError(
            f'version must be a word or a number; got {version!r}.\nHint: version="2".'
        )
    try:
        setattr(function, _VERSION, version)
    except AttributeError:
        message = f"{named(function)} cannot be given a version.\nHint: wrap it in a function."
        raise OptionError(message) from None
    return function


def named(function: Callable[..., Any]) -> str:
    """Return the name of a function.

    For a callable object, return the name of its class: its `repr` has an address, which changes
    at each restart.
    """
    function = getattr(function, "func", function)
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def function_label(function: Callable[..., Any]) -> str:
    """Return the name of a function with its version, or with a hash of its code."""
    return f"{named(function)}{_mark(function, function)}"


def class_label(value: object, base: type) -> str:
    """Return a label for an object of a user's class: its parameters and the code of its class.

    The code of `base`, which users inherit from, is not part of the label.
    """
    kind = type(value)
    own = [each for each in kind.__mro__ if issubclass(each, base) and each is not base]
    members = ((name, member) for each in own for name, member in vars(each).items())
    code = [(name, m) for name, m in members if callable(m) or not name.startswith("_")]
    code.sort(key=lambda each: each[0])
    given = ", ".join(f"{name}={value_label(part)}" for name, part in vars(value).items())
    return f"{kind.__qualname__}({given}){_mark(kind, tuple(code))}"


def _mark(function: object, code: object) -> str:
    version = getattr(function, _VERSION, None)
    content = "" if version else _content(code, set())
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    return f"<version {version}>" if version else f"<{_PYTHON} code {digest}>"


def value_label(value: object) -> str:
    """Return a label for a user's value, such as an initial state; equal values have equal ones."""
    if isinstance(value, list | set | tuple | frozenset):
        parts = [value_label(each) for each in value]
        parts = parts if isinstance(value, list | tuple) else sorted(parts)
        return f"{type(value).__name__}[{', '.join(parts)}]"
    if isinstance(value, dict):
        return f"dict[{', '.join(f'{value_label(k)}: {value_label(v)}' for k, v in value.items())}]"
    if isinstance(value, _PLAIN):
        return repr(value)
    return type(value).__qualname__


def compared(before: str, now: str) -> Literal["same", "changed", "unknown"]:
    """Compare two labels.

    Returns:
        "unknown" if they differ only in functions whose code cannot be compared: one of them has a
        version and the other has none, or the Python version has changed.
    """
    if before == now:
        return "same"
    if MARK.sub("<>", before) != MARK.sub("<>", now):
        return "changed"
    pairs = zip(MARK.findall(before), MARK.findall(now), strict=True)
    kinds = ((one.split()[0], other.split()[0]) for one, other in pairs if one != other)
    return "changed" if any(one == other for one, other in kinds) else "unknown"


def _content(value: Any, seen: set[CodeType]) -> str:  # noqa: ANN401, PLR0911
    """Return text of everything that determines what a function does, equal in every process.

    Mutable values, such as lists and objects, contribute only their type.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, tuple):
        return f"({','.join(_content(each, seen) for each in value)})"
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(_content(each, seen) for each in value))}}}"
    if isinstance(value, MethodType):
        return f"{_content(value.__func__, seen)} of {_content(value.__self__, seen)}"
    if isinstance(value, partial):
        given = [_content(each, seen) for each in (*value.args, *sorted(value.keywords.items()))]
        return f"{_content(value.func, seen)} given {given}"
    if isinstance(value, FunctionType):
        return _content_of_function(value, seen)
    if isinstance(value, type | ModuleType):
        return value.__name__
    if callable(value) and isinstance(call := type(value).__call__, FunctionType):
        own = sorted(getattr(value, "__dict__", {}).items())
        return f"{type(value).__name__} {_content((call, tuple(own)), seen)}"
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def _content_of_function(function: FunctionType, seen: set[CodeType]) -> str:
    code = function.__code__
    if code in seen:
        return function.__qualname__
    seen.add(code)
    cells = []
    for cell in function.__closure__ or ():
        try:
            cells.append(_content(cell.cell_contents, seen))
        except ValueError:
            cells.append("empty")
    known = function.__globals__
    read = [(name, known[name]) for name in sorted(_globals(code)) if name in known]
    given = (function.__defaults__, tuple(sorted((function.__kwdefaults__ or {}).items())))
    own = _content_of_code(code, function.__doc__, seen)
    return f"{own} {cells} {_content((tuple(read), given), seen)}"


def _content_of_code(code: CodeType, doc: str | None, seen: set[CodeType]) -> str:
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    consts = [None if isinstance(each, str) and each == doc else each for each in code.co_consts]
    values = [
        _content_of_code(each, None, seen) if isinstance(each, CodeType) else _content(each, seen)
        for each in consts
    ]
    return f"{code.co_code.hex()} {arguments} {code.co_names} {values}"


def _globals(code: CodeType) -> set[str]:
    """Return the names of the globals that the code reads, inner functions included."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return found.union(*map(_globals, inner))

"""Compile a user's function so that it gives what Python gives, or stops.

A new process calls a function of rows; a process that has seen many rows has compiled it. When a
batch is run again after a crash, the other way may be used, so both must give the same answer.
Numba's integers have 64 bits and wrap around; Python's do not. So in a function that is compiled
here

    integers            are at most 2**53 in size: each operation checks its result. Up to there
                        every integer is exact as a float, so nothing is lost where the two mix
    `math`, `**`        call the same functions as Python, and stop where Python would raise
    calls               of functions that are not known to be exact do not compile

A compiled function that meets too large a number raises `OverflowError`. The plain function is then
called for all rows of that batch.

If a variable can be an integer or a float, as in `0 if x < 0 else x`, the compiled function has a
float in both cases. The values are equal, but `-0.0` may stand for `0`.

Holds: a compiled function returns a value equal to the one that the function returns, or raises.
"""

import ctypes
import math
import operator
import platform
from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba import njit, types
from numba.core import ir
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.errors import UnsupportedError
from numba.core.ir_utils import get_definition, guard
from numba.core.untyped_passes import ReconstructSSA
from numba.extending import overload

from latecomer.operators.temporal.compiling import CALLED, LARGEST


def compiled(function: FunctionType) -> Any:  # noqa: ANN401 - Numba has no types for what it makes
    """Return a function that is compiled at its first call."""
    return njit(pipeline_class=_ExactCompiler)(function)


# Numba compiles what follows, so coverage does not see it run, and mypy sees no types.
# ruff: noqa: ANN001, ANN202
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
def _bounded(value):  # pragma: no cover
    if value > LARGEST or value < -LARGEST:
        raise OverflowError
    return value


def _mul(one, other):  # pragma: no cover
    # The product of integers may wrap around; that of floats cannot.
    left, right = int(one), int(other)
    if abs(float(left) * float(right)) >= LARGEST:
        raise OverflowError
    return left * right


def _lshift(one, other):  # pragma: no cover
    if other < 0 or other > 52:  # noqa: PLR2004 - bits
        raise OverflowError
    return mul(int(one), 1 << int(other))


def _rshift(one, other):  # pragma: no cover
    if other < 0:
        raise OverflowError
    return int(one) >> min(int(other), 63)


def _whole_pow(one, other):  # pragma: no cover
    base, left, result = int(one), int(other), 1
    if left < 0:
        raise OverflowError
    if abs(base) <= 1:
        return base if left & 1 or (base == 0 and left) else 1
    while left > 0:
        result = mul(result, base)
        left -= 1
    return result


def _pow(one, other):  # pragma: no cover
    base, power = float(one), float(other)
    is_known = math.isfinite(base) and math.isfinite(power)
    if not is_known or (base == 0 and power < 0) or (base < 0 and power != math.floor(power)):
        raise OverflowError
    if CLOSE and SMALL < abs(base) < LARGE:
        if power == 2:  # noqa: PLR2004 - a square
            return square(base)
        if power == 0.5:  # noqa: PLR2004 - a root
            return root(base)
    result = c_pow(base, power)
    if not math.isfinite(result):
        raise OverflowError
    return result


# The function `pow` of C takes about 20 ns, a product or a root much less. The product and the root
# are the floats nearest to the exact result. `pow` of glibc is at most 0.54 of the distance between
# two floats away from that ("Worst-case error: 0.54 ULP", sysdeps/ieee754/dbl-64/e_pow.c). So where
# the nearest float is at most 0.45 away, it is what `pow` returns, because any other float is at
# least 0.55 away. In one case in ten `pow` is called.
def _square(base):  # pragma: no cover
    result = base * base
    if abs(rest(base, result)) <= NEAR * distance(result):
        return result
    return c_pow(base, 2.0)


def _root(base):  # pragma: no cover
    result = math.sqrt(base)
    squared = result * result
    # The difference to the exact root is the rest of its square over twice the root.
    left = (base - squared) - rest(result, squared)
    if abs(left) <= 2 * NEAR * result * distance(result):
        return result
    return c_pow(base, 0.5)


def _rest(base, squared):  # pragma: no cover
    """Return `base * base - squared` exactly, where `squared` is the rounded product (Dekker)."""
    split = 134217729.0 * base
    high = split - (split - base)
    low = base - high
    return ((high * high - squared) + 2 * high * low) + low * low


def _distance(value):  # pragma: no cover
    """Return the distance from a positive float to the next one (Rump)."""
    return (value + value * NEXT) - value


def _int(one):  # pragma: no cover
    if not abs(one) < LARGEST:
        raise OverflowError
    return int(one)


def _plain(function: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Return a function of two arguments as Numba compiles it."""
    return njit(lambda one, other: function(one, other))  # noqa: PLW0108 - Numba wants these names


def _in_bounds(function: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Return a function of two integers that raises OverflowError if floats lack the result."""
    return njit(lambda one, other: bounded(function(int(one), int(other))))


def _of_math(function: Callable[[float], Any]) -> Any:  # noqa: ANN401
    """Return a function of `math` that raises OverflowError where Python would raise."""

    def checked(value):  # pragma: no cover
        if not abs(value * 1.0) < LARGEST:
            raise OverflowError
        result = function(value)
        if not abs(result) < LARGEST:
            raise OverflowError
        return result

    return njit(checked)


def _for_whole(others: Any, whole: Any, flags: Any = None) -> Any:  # noqa: ANN401
    """Return a stub that Numba replaces by type: for integers, for two booleans, or for others."""

    def stub(one: Any, other: Any) -> None:  # noqa: ANN401 - its types are Numba's
        """Do nothing: Numba puts the chosen function in its place."""

    @overload(stub)
    def _(one, other):
        kinds = one, other
        chosen = others
        if flags is not None and all(isinstance(kind, types.Boolean) for kind in kinds):
            chosen = flags
        elif all(isinstance(kind, types.Integer | types.Boolean) for kind in kinds):
            chosen = whole
        return lambda one, other: chosen(one, other)  # noqa: PLW0108 - Numba wants these names

    return stub


_LIBRARY, _VERSION = platform.libc_ver()
CLOSE = _LIBRARY == "glibc" and [*map(int, _VERSION.split(".")[:2])] >= [2, 28]
"""Whether `pow` is known to be so close to the exact result; glibc has this version since 2.28."""
SMALL, LARGE = 1e-100, 1e100
"""Bounds within which products of parts of floats are exact."""
NEAR = 0.45
NEXT = 2.0**-53 * (1 + 2.0**-52)
bounded, mul = njit(_bounded), njit(_mul)
rest, distance = njit(_rest), njit(_distance)
square, root = njit(_square), njit(_root)
c_pow = ctypes.CDLL(None).pow
c_pow.argtypes, c_pow.restype = [ctypes.c_double, ctypes.c_double], ctypes.c_double

_OPERATORS: dict[Any, Any] = {
    **{each: _for_whole(_plain(each), _in_bounds(each)) for each in (operator.add, operator.sub)},
    operator.mul: _for_whole(_plain(operator.mul), mul),
    operator.lshift: _for_whole(_plain(operator.lshift), njit(_lshift)),
    operator.rshift: _for_whole(_plain(operator.rshift), njit(_rshift)),
    **{
        each: _for_whole(_plain(each), _in_bounds(each), _plain(each))
        for each in (operator.and_, operator.or_, operator.xor)
    },
    operator.pow: _for_whole(njit(_pow), njit(_whole_pow)),
    operator.invert: njit(lambda one: bounded(~(one + 0))),
}
_SAME = {
    *(operator.truediv, operator.floordiv, operator.mod, operator.neg, operator.pos, operator.not_),
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
    *(operator.contains, operator.is_, operator.is_not),
}
"""Operators that need no check: they are exact for integers up to `LARGEST`."""
_IN_PLACE = {
    getattr(operator, f"i{name.strip('_')}"): getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "lshift", "rshift", "and_", "or_", "xor", "pow"),
        *("truediv", "floordiv", "mod"),
    )
}
_TWO = (min, max)
_FUNCTIONS: dict[Any, Any] = {
    **{each: each for each in (abs, bool, float, len, range)},
    **{each: each for each in (math.isnan, math.isinf, math.isfinite)},
    **{each: _of_math(each) for each in (math.sqrt, math.floor, math.ceil, math.fabs)},
    **{each: _of_math(each) for each in (math.exp, math.log, math.sin, math.cos, math.tan)},
    int: njit(_int),
    **{each: _plain(each) for each in _TWO},
}


@register_pass(mutates_CFG=False, analysis_only=False)
class _Exact(FunctionPass):
    """A pass of Numba's compiler that replaces operations by checked ones."""

    _name = "latecomer_exact"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:  # noqa: ANN401
        self._ir = state.func_ir
        for block in self._ir.blocks.values():
            body = []
            for statement in block.body:
                if isinstance(statement, ir.Assign):
                    body += self._before(statement, block.scope)
                body.append(statement)
            block.body = body
        return True

    def _before(self, statement: Any, scope: Any) -> list[Any]:  # noqa: ANN401
        """Replace the value of an assignment; return the statements to insert before it."""
        value = statement.value
        if isinstance(value, ir.Const | ir.Global | ir.FreeVar):
            number = value.value
            if isinstance(number, int) and abs(number) > LARGEST:
                raise UnsupportedError(f"the integer {number} {CALLED}", statement.loc)
        if not isinstance(value, ir.Expr):
            return []
        if value.op in ("binop", "inplace_binop", "unary"):
            return self._operator(statement, value, scope)
        return self._call(statement, value, scope) if value.op == "call" else []

    def _operator(self, statement: Any, value: Any, scope: Any) -> list[Any]:  # noqa: ANN401
        function = _IN_PLACE.get(value.fn, value.fn)
        if function in _SAME:
            return []
        if function not in _OPERATORS:
            raise UnsupportedError(f"the operator {function.__name__} {CALLED}", statement.loc)
        given = [value.value] if value.op == "unary" else [value.lhs, value.rhs]
        return self._replaced(statement, _OPERATORS[function], given, scope)

    def _call(self, statement: Any, value: Any, scope: Any) -> list[Any]:  # noqa: ANN401
        function = self._known(value.func)
        if function == "append":
            return []
        is_known = function in _FUNCTIONS and not value.kws and not value.vararg
        if not is_known or (function in _TWO and len(value.args) != 2):  # noqa: PLR2004
            name = getattr(function, "__name__", "a function")
            raise UnsupportedError(f"a call of {name} {CALLED}", statement.loc)
        if _FUNCTIONS[function] is function:
            return []
        return self._replaced(statement, _FUNCTIONS[function], value.args, scope)

    def _known(self, variable: Any) -> Any:  # noqa: ANN401
        """Return the function that a variable stands for; None if it is not known."""
        found = guard(get_definition, self._ir, variable)
        if isinstance(found, ir.Global | ir.FreeVar):
            return found.value
        if isinstance(found, ir.Expr) and found.op == "getattr":
            of = guard(get_definition, self._ir, found.value)
            if isinstance(of, ir.Global | ir.FreeVar) and of.value is math:
                return getattr(math, found.attr, None)
            return "append" if found.attr == "append" else None
        return None

    def _replaced(self, statement: Any, function: Any, given: Any, scope: Any) -> list[Any]:  # noqa: ANN401
        name = scope.redefine("$exact", statement.loc)
        known = ir.Global("exact", function, statement.loc)
        self._ir._definitions[name.name].append(known)  # noqa: SLF001 - as Numba's passes do
        statement.value = ir.Expr.call(name, list(given), (), statement.loc)
        return [ir.Assign(known, name, statement.loc)]


class _ExactCompiler(CompilerBase):
    """Numba's compiler with the pass `_Exact`."""

    def define_pipelines(self) -> list[Any]:
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.add_pass_after(_Exact, ReconstructSSA)
        pipeline.finalize()
        return [pipeline]

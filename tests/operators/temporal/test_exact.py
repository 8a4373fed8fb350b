"""A compiled function returns the same as Python, or raises."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba.core.errors import NumbaError

from latecomer.operators.temporal.compiling import CALLED, LARGEST
from latecomer.operators.temporal.exact import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"
)

EXTREMES = [0, 1, -1, 2, -3, 52, 53, 63, 64, LARGEST, -LARGEST, LARGEST - 1, 2**26 + 1]
INTEGERS = st.integers(-LARGEST, LARGEST) | st.sampled_from(EXTREMES) | st.integers(-9, 9)
FLOATS = st.floats() | st.sampled_from([0.0, -0.0, 0.5, 1e300, -1e300, 5e-324, 2.0**53])
BOOLEANS = st.booleans()
PAIRS = (
    st.tuples(INTEGERS, INTEGERS)
    | st.tuples(FLOATS, FLOATS)
    | st.tuples(INTEGERS, FLOATS)
    | st.tuples(FLOATS, INTEGERS)
    | st.tuples(BOOLEANS, INTEGERS)
)


def arithmetic(op, a, b):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201, C901, PLR0911, PLR0912
    if op == 0:
        return (a + b) * 1.0
    if op == 1:
        return (a - b) * 1.0
    if op == 2:
        return (a * b) * 1.0
    if op == 3:
        return (a / b) * 1.0
    if op == 4:
        return (a // b) * 1.0
    if op == 5:
        return (a % b) * 1.0
    if op == 6:
        return (a**b) * 1.0
    if op == 7:
        return (-a) * 1.0
    if op == 8:
        return (a < b) + 2.0 * (a == b) + 4.0 * (a >= b) * 1.0
    if op == 9:
        return (min(a, b)) * 1.0
    if op == 10:
        return (max(a, b)) * 1.0
    if op == 11:
        return (int(a)) * 1.0
    if op == 12:
        return math.sqrt(a) + math.exp(b)
    if op == 13:
        return math.log(a) + math.sin(b)
    if op == 14:
        return (math.floor(a)) + math.ceil(b) * 1.0
    c = a
    c += b
    c *= 3
    c -= a
    return (abs(c)) * 1.0


def bits(op, a, b):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    if op == 0:
        return int(a & b)
    if op == 1:
        return int(a | b)
    if op == 2:
        return int(a ^ b)
    if op == 3:
        return int(a << b)
    return int(a >> b) if op == 4 else int(~(a + 0))


def told(function: Callable[..., Any], *values: object) -> object:
    try:
        found = function(*values)
    except Exception as error:  # noqa: BLE001 - any error is an answer
        return error
    return "NaN" if found != found else found  # noqa: PLR0124 - NaN is no number


FAST_ARITHMETIC, FAST_BITS = compiled(arithmetic), compiled(bits)


def agree(function: Callable[..., Any], fast: Callable[..., Any], *values: object) -> None:
    found = told(fast, *values)

    assert not isinstance(found, NumbaError), values
    assert isinstance(found, Exception) or found == told(function, *values), values


@given(st.integers(0, 15), PAIRS)
@example(2, (2**40, 2**40))
@example(0, (LARGEST, 1))
@example(4, (-LARGEST, -1))
@example(5, (-7, 0))
@example(6, (-8.0, 1 / 3))
@example(8, (LARGEST, float(LARGEST)))
@example(12, (-1.0, 1000.0))
@example(14, (0.0, 2.0**63))
@settings(max_examples=1500, deadline=None)
def test_arithmetic_is_that_of_python(op: int, pair: tuple[Any, Any]) -> None:
    agree(arithmetic, FAST_ARITHMETIC, op, *pair)


@given(st.integers(0, 5), st.tuples(INTEGERS | BOOLEANS, INTEGERS | BOOLEANS))
@example(3, (1, 70))
@example(3, (1, -1))
@example(4, (-5, 64))
@settings(max_examples=500, deadline=None)
def test_bits_are_those_of_python(op: int, pair: tuple[Any, Any]) -> None:
    agree(bits, FAST_BITS, op, *pair)


def test_ordinary_numbers_do_not_raise() -> None:
    for op in range(16):
        assert told(FAST_ARITHMETIC, op, 7, 3) == told(arithmetic, op, 7, 3)
        assert told(FAST_ARITHMETIC, op, 7.5, 2.0) == told(arithmetic, op, 7.5, 2.0)
    assert [FAST_BITS(op, 6, 3) for op in range(6)] == [bits(op, 6, 3) for op in range(6)]


def trees(leaves: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(["+", "-", "*", "/", "//", "%", "<", ">=", "=="])
    return st.recursive(
        leaves,
        lambda part: (
            st.builds("({} {} {})".format, part, binary, part)
            | st.builds("({} if {} else {})".format, part, part, part)
            | st.builds("(-abs({}))".format, part)
        ),
        max_leaves=6,
    )


VALUES = st.lists(st.tuples(INTEGERS, FLOATS, BOOLEANS), min_size=8, max_size=8)


@given(trees(st.sampled_from(["a", "b", "c", "2", "0.5", "a", "b"])), VALUES)
@settings(max_examples=12, deadline=None)
def test_any_expression_is_that_of_python(text: str, values: list[tuple[int, float, bool]]) -> None:
    function = eval(f"lambda a, b, c: ({text}) * 1.0")  # noqa: S307 - of our own making
    fast = compiled(function)
    for each in values:
        agree(function, fast, *each)


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (lambda a: a & 0xFFFF_FFFF_FFFF_FFFF, "integer 18446744073709551615"),
        (lambda a: math.hypot(a, a), "call of hypot"),
        (lambda a: round(a, 1), "call of round"),
        (lambda a: min(a, a, a), "call of min"),
        (lambda a: np.sqrt(a) + 1, "call of a function"),
        (lambda a: a @ a, "operator matmul"),
    ],
)
def test_expressions_that_might_differ_are_not_compiled(
    function: Callable[..., Any], word: str
) -> None:
    with pytest.raises(NumbaError, match=f"{word}.* {CALLED}"):
        compiled(function)(1)


@pytest.mark.parametrize(
    "function", [lambda a, b: b << a, lambda a, b: ~a + b, lambda a, b: a & b, lambda a, b: a >> b]
)
def test_expressions_that_python_refuses_are_not_compiled(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError):
        function(2.5, 1)
    with pytest.raises(NumbaError):
        compiled(function)(2.5, 1)


def test_squares_and_roots_are_those_of_python_to_the_last_bit() -> None:
    """In about one case in a thousand, `x ** 2` is not `x * x`, or `x ** 0.5` is not the root."""
    random = np.random.default_rng(5)
    wide = random.normal(size=20_000) * 10.0 ** random.uniform(-120, 120, 20_000)
    values = np.concatenate([random.uniform(-1e5, 1e5, 20_000), wide]).tolist()
    square, root = compiled(lambda x: x**2), compiled(lambda x: x**0.5)

    assert [square(x) for x in values] == [x**2 for x in values]
    assert [root(abs(x)) for x in values] == [abs(x) ** 0.5 for x in values]


def test_lists_and_loops_are_compiled() -> None:
    def total(n: int) -> int:
        found = 0
        for each in [i * i for i in range(n)]:
            found += each
        return found

    assert compiled(total)(10) == total(10) == 285
    with pytest.raises(OverflowError):
        compiled(total)(400_000)

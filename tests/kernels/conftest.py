"""Every call of a linear kernel in these tests runs as machine code and as plain Python.

Both must give the same bytes, because a process starts with one and continues with the other.
"""

from __future__ import annotations

import copy
import struct
from typing import Any

import numba
import numpy as np
import pytest

from latecomer.kernels import jit


@pytest.fixture(autouse=True)
def run_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without machine code there is one way only.
    if not numba.config.DISABLE_JIT:
        monkeypatch.setattr(jit._LinearKernel, "__call__", both_ways)


inside: list[bool] = []
"""Filled while a kernel runs as plain Python, and calls others."""


def both_ways(made: jit._LinearKernel, *arguments: object) -> object:
    if inside:
        return made.plain(*arguments)
    copies = copy.deepcopy(arguments)
    compiled = made.compiled(*arguments)
    inside.append(True)
    try:
        with np.errstate(over="ignore"):
            plain = made.plain(*copies)
    finally:
        inside.pop()
    assert as_bytes(plain) == as_bytes(compiled)
    assert as_bytes(copies) == as_bytes(arguments)
    return compiled


def as_bytes(value: Any) -> Any:  # noqa: ANN401 - whatever a kernel takes and returns
    """Return bytes that differ for values that differ in any bit."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return [as_bytes(each) for each in value]
    return struct.pack("d", value) if isinstance(value, float) else value

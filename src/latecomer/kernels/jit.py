"""Compile a kernel.

A kernel is a loop over arrays that NumPy cannot express without copies. Numba compiles it at the
first call and keeps the machine code on disk, so that the next process, a fresh Spark worker too,
loads it instead of compiling again: `python -m benchmarks.kernel_start --json` measures both.

With `NUMBA_DISABLE_JIT=1` in the environment kernels run as plain Python; `make test` runs their
tests both ways, because coverage cannot look into machine code.
"""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def kernel(function: Kernel) -> Kernel:
    """Compile a function of arrays and numbers; it holds no lock while it runs."""
    return cast("Kernel", numba.njit(cache=True, nogil=True)(function))

"""Compile a kernel.

A kernel is a loop over arrays that NumPy cannot express without copies. Numba compiles it at the
first call and keeps the machine code on disk. The next process, for example a new Spark worker,
loads it instead of compiling again: `python -m benchmarks.kernel_start --json` measures both. Where
no cache directory can be written, each process compiles for itself, and warns once.

Numba itself is imported when a kernel is first compiled. That takes longer than all other imports
together, and the first answer of a query would wait for it in every worker. A *linear* kernel,
whose cost is a few steps per row, therefore runs as plain Python on few rows, until Numba has been
loaded anyway or plain Python has taken too long. Both give the same bytes: `tests/kernels` runs
every call of a linear kernel both ways and compares.

With `NUMBA_DISABLE_JIT=1` in the environment kernels run as plain Python; `make test` runs their
tests both ways, because coverage cannot look into machine code.
"""

import sys
import warnings
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from threading import RLock
from time import perf_counter
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

Kernel = TypeVar("Kernel", bound="Callable[..., object]")

FEW = 50_000
"""Largest number of values, in all arrays of a call, for which plain Python is used."""
PATIENCE = 1.0
"""Seconds that linear kernels may run as plain Python in all, before the next one loads Numba."""

_MAKING = RLock()


def kernel(function: Kernel) -> Kernel:
    """Compile a function of arrays and numbers. It runs without the global interpreter lock."""
    return cast("Kernel", _Kernel(function))


def inner_kernel(function: Kernel) -> Kernel:
    """Compile a function that only kernels call, and that makes no arrays.

    References to its arrays are not counted, which in a small function would take longer than all
    that it does: the kernel that calls it holds them.
    """
    return cast("Kernel", _InnerKernel(function))


def linear_kernel(function: Kernel) -> Kernel:
    """Compile a function whose cost is linear in its arrays, once there are enough rows."""
    return cast("Kernel", _LinearKernel(function))


class _Kernel:
    """A function that is compiled when it is first called, here or by another kernel."""

    options: ClassVar[dict[str, Any]] = {"nogil": True}

    def __init__(self, function: Callable[..., object]) -> None:
        self.plain = function
        self._dispatcher: Any = None
        update_wrapper(self, function)

    @cached_property
    def compiled(self) -> Any:  # noqa: ANN401 - Numba has no types for what it makes
        """The function as compiled by Numba."""
        # Threads that call a kernel for the first time at once must compile it once.
        with _MAKING:
            if self._dispatcher is None:
                self._dispatcher = self._made()
        return self._dispatcher

    def _made(self) -> Any:  # noqa: ANN401 - as above
        import numba

        _make_callable_by_kernels()
        try:
            return numba.njit(cache=True, **self.options)(self.plain)
        except RuntimeError:  # pragma: no cover - tested in a process of its own
            # Numba could write neither beside the source nor in the user's cache directory.
            _warn_of_no_cache()
            return numba.njit(**self.options)(self.plain)

    def __call__(self, *arguments: object) -> object:
        return self.compiled(*arguments)


class _InnerKernel(_Kernel):
    """A kernel that other kernels call. Plain Python calls it as plain Python."""

    options: ClassVar[dict[str, Any]] = {"nogil": True, "_nrt": False}

    def __call__(self, *arguments: object) -> object:
        return self.plain(*arguments)


class _LinearKernel(_Kernel):
    """A kernel that runs as plain Python at first. Kernels that it calls are linear or inner."""

    spent = 0.0
    """Seconds that all linear kernels have run as plain Python in this process."""

    def __call__(self, *arguments: object) -> object:
        if (
            "numba" in sys.modules
            or _LinearKernel.spent > PATIENCE
            or sum(each.size for each in arguments if isinstance(each, np.ndarray)) > FEW
        ):
            return self.compiled(*arguments)
        start = perf_counter()
        # Compiled code does not warn about integer overflow, so plain Python must not either.
        with np.errstate(over="ignore"):
            result = self.plain(*arguments)
        _LinearKernel.spent += perf_counter() - start
        return result


@cache
def _warn_of_no_cache() -> None:  # pragma: no cover - tested in a process of its own
    warnings.warn(
        "compiled kernels cannot be kept, because no directory for them is writable; every "
        "process compiles them again, which takes seconds.\n"
        "Hint: set NUMBA_CACHE_DIR to a writable directory.",
        RuntimeWarning,
        stacklevel=2,
    )


@cache
def _make_callable_by_kernels() -> None:
    """Let kernels call other kernels: Numba uses the compiled function of the one called."""
    from numba import typeof
    from numba.extending import typeof_impl

    @typeof_impl.register(_Kernel)
    def _(made: _Kernel, _: object) -> object:  # pragma: no cover - called while Numba compiles
        return typeof(made.compiled)  # type: ignore[no-untyped-call]

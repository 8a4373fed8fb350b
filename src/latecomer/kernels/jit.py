"""Compile a kernel.

A kernel is a loop over arrays that NumPy cannot express without copies. Numba compiles it at the
first call and keeps the machine code on disk, so that the next process, a fresh Spark worker too,
loads it instead of compiling again: `python -m benchmarks.kernel_start --json` measures both.

Numba itself is imported at the first call of any kernel. That takes longer than all other imports
together, and Spark starts a Python process for each stateful stage that only asks for the layout of
its state.

With `NUMBA_DISABLE_JIT=1` in the environment kernels run as plain Python; `make test` runs their
tests both ways, because coverage cannot look into machine code.
"""

from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from typing import Any, TypeVar, cast

Kernel = TypeVar("Kernel", bound="Callable[..., object]")


def kernel(function: Kernel) -> Kernel:
    """Compile a function of arrays and numbers; it holds no lock while it runs."""
    return cast("Kernel", _Kernel(function))


class _Kernel:
    """A function that is compiled when it is first called, here or by another kernel."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        update_wrapper(self, function)

    @cached_property
    def compiled(self) -> Any:  # noqa: ANN401 - Numba has no types for what it makes
        """What Numba makes of the function."""
        import numba

        _make_callable_by_kernels()
        return numba.njit(cache=True, nogil=True)(self._function)

    def __call__(self, *arguments: object) -> object:
        return self.compiled(*arguments)


@cache
def _make_callable_by_kernels() -> None:
    """Let Numba use the compiled function of a kernel that another one calls."""
    from numba import typeof
    from numba.extending import typeof_impl

    @typeof_impl.register(_Kernel)
    def _(made: _Kernel, _: object) -> object:  # pragma: no cover - called while Numba compiles
        return typeof(made.compiled)  # type: ignore[no-untyped-call]

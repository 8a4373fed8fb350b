from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import TYPE_CHECKING

import numba
import numpy as np
import numpy.typing as npt
import pytest

from latecomer.kernels import jit

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

SOURCE = """\
from latecomer.kernels.jit import kernel

@kernel
def last_before(times, limit):
    found = -1
    for i in range(len(times)):
        if times[i] < limit:
            found = i
    return found
"""


def loaded(folder: Path, source: str = SOURCE) -> ModuleType:
    path = folder / "some_kernel.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("some_kernel", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_kernel_gives_what_its_loop_says(tmp_path: Path) -> None:
    last_before = loaded(tmp_path).last_before

    assert last_before(np.array([3, 5, 9, 7]), 8) == 3
    assert last_before(np.array([3, 5]), 3) == -1


INNER = """\
from latecomer.kernels.jit import inner_kernel, kernel

@inner_kernel
def at_least(times, at, limit):
    if times[at] < limit:
        times[at] = limit
    return times[at]

@kernel
def raised(times, limit):
    total = 0
    for at in range(len(times)):
        total += at_least(times, at, limit)
    return total
"""


def test_a_kernel_calls_inner_ones_without_counting_references(tmp_path: Path) -> None:
    module = loaded(tmp_path, INNER)
    times = np.array([3, 9, 5])

    assert module.raised(times, 5) == 19
    assert times.tolist() == [5, 9, 5]
    if not numba.config.DISABLE_JIT:
        (code,) = module.at_least.compiled.inspect_llvm().values()
        assert "NRT_incref" not in code


def test_the_machine_code_of_a_kernel_is_kept_beside_it(tmp_path: Path) -> None:
    last_before = loaded(tmp_path).last_before
    last_before(np.array([3]), 8)

    kept = [path.name for path in tmp_path.rglob("*.nbi")]

    # Plain Python, which measures coverage, has no machine code.
    assert len(kept) == (0 if numba.config.DISABLE_JIT else 1)


def test_a_kernel_lets_other_threads_run(tmp_path: Path) -> None:
    last_before = loaded(tmp_path).last_before

    if numba.config.DISABLE_JIT:
        assert not hasattr(last_before.compiled, "targetoptions")
    else:
        assert last_before.compiled.targetoptions["nogil"]


def test_a_linear_kernel_is_plain_python_on_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    # These calls run only one way, unlike those in other tests.
    monkeypatch.undo()
    monkeypatch.delitem(sys.modules, "numba")
    sums = jit.linear_kernel(lambda values: values[0] + values[1])

    wrapped = sums(np.array([2**63 - 1, 1]))

    assert wrapped == -(2**63)
    assert "compiled" not in vars(sums)


FEW_THEN_MANY = """
import sys
import numpy as np
from latecomer.kernels import jit
from latecomer.kernels.apart import keep_apart

for limits in ({}, {limits}):
    vars(jit).update(limits)
    print(keep_apart(np.array([0, 4, 5]), np.array([0, 3]), 5), "numba" in sys.modules)
"""


@pytest.mark.parametrize("limits", ["{'FEW': 4}", "{'PATIENCE': -1.0}"], ids=["many", "long"])
def test_a_linear_kernel_loads_the_compiler_once_there_is_much_to_do(limits: str) -> None:
    script = FEW_THEN_MANY.replace("{limits}", limits)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines() == ["[ True False  True] False", "[ True False  True] True"]


def test_where_nothing_can_be_written_kernels_are_compiled_in_memory(tmp_path: Path) -> None:
    twice = SOURCE.replace("last_before", "first")
    (tmp_path / "some_kernel.py").write_text(SOURCE + twice)
    # No directory can be made beside the source or in the user's cache, not even by root.
    (tmp_path / "__pycache__").touch()
    script = "from some_kernel import *; print(last_before([3, 9], 8), first([3, 9], 4))"
    script = script.replace("[3, 9]", "np.array([3, 9])")
    done = subprocess.run(
        [sys.executable, "-c", "import numpy as np; " + script],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": os.devnull, "XDG_CACHE_HOME": os.devnull},
    )

    assert done.stdout == "0 0\n"
    # Plain Python, which measures coverage, has no machine code to keep.
    warned = 0 if numba.config.DISABLE_JIT else 1
    assert done.stderr.count("RuntimeWarning: compiled kernels cannot be kept") == warned


def test_threads_that_call_a_kernel_at_once_compile_it_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[object] = []
    compiled = jit._Kernel._made

    def slowly(kernel: jit._Kernel) -> object:
        made.append(kernel)
        sleep(0.05)
        return compiled(kernel)

    monkeypatch.setattr(jit._Kernel, "_made", slowly)
    total = jit.kernel(_total)
    with ThreadPoolExecutor(3) as pool:
        found = [*pool.map(total, [np.arange(4)] * 3)]

    assert (found, len(made)) == ([6, 6, 6], 1)


def _total(numbers: npt.NDArray[np.int64]) -> int:
    return int(numbers.sum())

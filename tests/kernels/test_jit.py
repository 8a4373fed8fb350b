from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import numba
import numpy as np

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


def loaded(folder: Path) -> ModuleType:
    path = folder / "some_kernel.py"
    path.write_text(SOURCE)
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

"""`import latecomer` must stay cheap: no JVM bridge, no compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module", ["latecomer", "latecomer.runtime.session", "latecomer.runtime.java"]
)
def test_importing_brings_in_neither_spark_nor_numba(module: str) -> None:
    program = (
        f"import sys, {module}; print(*sorted({{'pyspark', 'py4j', 'numba'}} & {{*sys.modules}}))"
    )

    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert answer.stdout.split() == []

"""How long does a new Python process take until the first kernel has run?

Each Python worker of Spark is a new process. Printed are seconds, the median of five processes, to

    numba      import Numba, and nothing else
    cached     import the kernels and call each once; their machine code is on disk
    compiled   the same, with an empty disk cache

The first call of any kernel also sets up Numba's compiler, whether or not it has to compile.
NumPy, Arrow and `latecomer` are imported before the clock starts, because a worker always does so.

    python -m benchmarks.kernel_start [--times 5] [--json]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from statistics import median
from typing import Any

PROGRAM = """
import json, sys, time
import numpy as np, pyarrow, latecomer.batch
began = time.perf_counter()
import numba
imported = time.perf_counter()
called = {}
if sys.argv[1] != "numba":
    from latecomer.kernels import disorder
    times = np.array([3, 1, 2])
    for kernel in (disorder.inversions, disorder.distance, disorder.runs, disorder.interleaved):
        before = time.perf_counter()
        kernel(times)
        called[kernel.__name__] = time.perf_counter() - before
ended = time.perf_counter()
print(json.dumps({"seconds": ended - began, "import_numba": imported - began} | called))
"""


def start(how: str, cache: str) -> dict[str, float]:
    """Run the program in a new process."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", PROGRAM, how]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return dict(json.loads(done.stdout))


def measure(how: str, times: int, filled: str) -> dict[str, Any]:
    found = []
    for _ in range(times):
        with tempfile.TemporaryDirectory(prefix="latecomer-bench-") as empty:
            found.append(start(how, empty if how == "compiled" else filled))
    return {name: round(median(each[name] for each in found), 3) for name in found[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=5, help="processes of each kind")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="latecomer-bench-") as filled:
        start("cached", filled)
        for how in ("numba", "cached", "compiled"):
            result = {"benchmark": "kernel_start", "start": how}
            result |= measure(how, arguments.times, filled)
            line = "  ".join(f"{name} {value}" for name, value in result.items())
            print(json.dumps(result) if arguments.json else line, flush=True)


if __name__ == "__main__":
    main()

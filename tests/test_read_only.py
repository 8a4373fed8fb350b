"""Latecomer runs without a writable directory: on a read-only file system, without a home."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import latecomer

SCRIPT = """
import os
import numba  # once it is loaded, all kernels are compiled
import numpy as np
import pyarrow as pa
import latecomer as lc

try:
    open(os.path.dirname(lc.__file__) + "/written", "x")
except OSError:
    print("read-only")
times = np.random.default_rng(1).permutation(200_000)
rows = pa.table({"time": times, "key": times % 7})
stream = lc.disordered(rows, time="time", key="key", unit="ms")
batches = [rows.slice(at, 50_000) for at in range(0, 200_000, 50_000)]
found = stream.sort(wait="1 hour").run(batches).ready["time"].to_numpy()
counts = stream.tumbling("50 seconds").wait("1 hour").aggregate(n=lc.agg.count()).run().ready
print((np.diff(found) >= 0).all(), counts["n"].to_pylist())
"""


def test_streams_run_on_a_read_only_file_system_without_a_home(tmp_path: Path) -> None:
    # Only this process mounts its root again as read-only, if that is allowed.
    mount = 'mount -o remount,bind,ro "$0" 2>/dev/null || exit 77; exec "$@"'
    root = mount_of(Path(latecomer.__file__))
    variables = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
    try:
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", mount, root, sys.executable, "-c", SCRIPT],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env={**variables, "HOME": os.devnull},
        )
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    if done.returncode in (1, 77) and "latecomer" not in done.stderr:
        pytest.skip("this process may not mount file systems read-only")

    told = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert told[0] == "read-only"
    assert told[1] == "True [50000, 50000, 50000, 50000]"
    assert done.stderr.count("RuntimeWarning: compiled kernels cannot be kept") == 1


def mount_of(path: Path) -> str:
    while not path.is_mount():
        path = path.parent
    return str(path)

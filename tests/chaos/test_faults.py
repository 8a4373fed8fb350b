"""Real queries that are ended at an effect, or whose workers and executors are killed."""

import subprocess
import sys

import pytest

FAULTS, STEP = 6, 20
"""Few enough for a minute, in several kinds of queries. `make chaos` causes 200."""


@pytest.mark.jvm
def test_real_faults_lose_nothing() -> None:
    asked = f"--schedules 0 --faults {FAULTS} --plans 0 --step {STEP}"
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos", *asked.split()],
        capture_output=True,
        text=True,
        timeout=1_800,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert " real faults: 0 failures" in done.stdout

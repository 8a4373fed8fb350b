"""Run the command `latecomer` as a user does, in a process of its own."""

import subprocess
import sys


def latecomer(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "latecomer", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)

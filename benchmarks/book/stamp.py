"""The machine, commit and arguments of a run, which are added to the lines of a benchmark.

Lines without them are older than the book; their commit is that of the file.
"""

import os
import platform
import re
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from latecomer.errors import JavaNotFoundError
from latecomer.runtime.java import find_java

ROOT = Path(__file__).parents[2]
PACKAGES = ("pyspark", "numba", "numpy", "pyarrow", "pandas", "polars", "duckdb")

LOAD_BEFORE = round(os.getloadavg()[0], 1)
"""Load of the machine at the start. Times measured beside other load are worth little."""

Line = dict[str, Any]


def stamped(line: Line, arguments: tuple[str, ...], seconds: float | None = None) -> Line:
    """Return a line with the origin added; `seconds` is the duration of the whole run."""
    run = {"arguments": " ".join(arguments), **commit(), "load_before": LOAD_BEFORE}
    run["machine"] = machine()
    if seconds is not None:
        run["seconds"] = round(seconds, 1)
    return {**line, "run": run}


@cache
def machine() -> Line:
    """Return the hardware of this machine and its software versions."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(_memory() / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "java": _java(),
        **{name: found for name in PACKAGES if (found := _version(name))},
    }


@cache
def commit() -> Line:
    """Return the checked-out commit, and whether the code differs from it."""
    short = _out("git", "rev-parse", "--short=9", "HEAD")
    # A run changes results and pages, so changes there do not matter.
    changed = _out(
        "git", "status", "--porcelain", "--", ":!benchmarks/results", ":!docs", ":!README.md"
    )
    return {"commit": short, "clean": changed == ""}


def _cpu() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _java() -> str | None:
    try:
        said = _out(str(find_java().executable), "-version")
    except JavaNotFoundError:
        return None
    found = re.search(r'version "([^"]+)"', said or "")
    return found[1] if found else None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _out(*command: str) -> str | None:
    """Run a command; return both outputs, or an empty text if it cannot be run."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return (done.stdout or done.stderr).strip()

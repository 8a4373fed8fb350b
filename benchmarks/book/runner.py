"""Run benchmarks, each in a process of its own, and keep the lines that they print.

Earlier lines are replaced only when the new ones are complete. A benchmark that fails or is stopped
leaves its lines in a file that ends in `.part`, and the next benchmarks run.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.book.registry import Arguments, Benchmark
from benchmarks.book.stamp import ROOT, stamped

Say = Callable[[str], None]


class FailedError(Exception):
    """A benchmark ended with an error, or printed no lines."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a benchmark."""

    name: str
    seconds: float
    lines: int
    error: str = ""


def run(
    benchmark: Benchmark,
    folder: Path,
    *,
    is_quick: bool = False,
    is_json: bool = False,
    say: Say = lambda _: None,
) -> Outcome:
    """Run one benchmark, with all of its arguments, and keep its lines."""
    began = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{benchmark.name}.jsonl.part"
    part.unlink(missing_ok=True)
    kept: list[dict[str, Any]] = []
    error = ""
    try:
        for arguments in benchmark.quick if is_quick else benchmark.full:
            kept += _called(benchmark.name, arguments, part, is_json=is_json, say=say)
    except FailedError as failed:
        error = str(failed)
    else:
        part.write_text("".join(_text(line) for line in kept))
        part.replace(folder / f"{benchmark.name}.jsonl")
    return Outcome(benchmark.name, time.perf_counter() - began, len(kept), error)


def _called(
    name: str, arguments: Arguments, part: Path, *, is_json: bool, say: Say
) -> list[dict[str, Any]]:
    """Run a benchmark with one set of arguments, and write each line as soon as it is printed."""
    began, found = time.perf_counter(), []
    for line in printed(name, arguments):
        found.append(line)
        told = _text(stamped(line, arguments))
        with part.open("a") as file:
            file.write(told)
        if is_json:
            print(told, end="", flush=True)
        say(f"{name} {' '.join(arguments)}".strip() + f": {len(found)} lines")
    if not found:
        raise FailedError("it printed nothing")
    took = time.perf_counter() - began
    return [stamped(line, arguments, took) for line in found]


def printed(name: str, arguments: Arguments) -> Iterator[dict[str, Any]]:
    """Run a benchmark in another process; raise an error with its messages if it fails."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments, "--json"]
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=errors, text=True) as process,
    ):
        try:
            for text in process.stdout or ():
                # Spark and others sometimes talk on this output too.
                if text.startswith("{"):
                    yield json.loads(text)
        except BaseException:
            process.terminate()
            raise
        if process.wait():
            errors.seek(0)
            last = errors.read().strip().splitlines()[-1:]
            raise FailedError(last[0] if last else f"it ended with {process.returncode}")


def _text(line: dict[str, Any]) -> str:
    return json.dumps(line, ensure_ascii=False) + "\n"

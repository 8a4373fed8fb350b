"""Lines that benchmarks have printed and that were kept, and where they are.

A file has the lines of one benchmark. Where a question was asked more than once, the last answer
counts. Every line knows its place, so that a page can point to it.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.book.stamp import ROOT

KEPT = ROOT / "benchmarks/results"
QUICK = KEPT / "quick"


@dataclass(frozen=True, slots=True)
class Line:
    """What a benchmark printed at one place of its file."""

    benchmark: str
    number: int
    values: dict[str, Any]

    def __getitem__(self, path: str) -> Any:
        """Find a value, inside of others if the path has dots."""
        found: Any = self.values
        for name in path.split("."):
            found = found[name]
        return found

    def get(self, path: str) -> Any:
        """Find a value, or nothing."""
        try:
            return self[path]
        except (KeyError, TypeError):
            return None

    def fits(self, wanted: dict[str, Any]) -> bool:
        return all(self.get(name) == value for name, value in wanted.items())


@dataclass(frozen=True)
class Results:
    """All lines of a folder."""

    folder: Path = KEPT

    @cached_property
    def files(self) -> dict[str, list[Line]]:
        return {path.stem: read(path) for path in sorted(self.folder.glob("*.jsonl"))}

    def lines(self, benchmark: str, /, **wanted: Any) -> list[Line]:
        """Find all lines that have these values."""
        return [line for line in self.files.get(benchmark, ()) if line.fits(wanted)]

    def last(self, benchmark: str, /, **wanted: Any) -> Line | None:
        """Find the last line that has these values."""
        found = self.lines(benchmark, **wanted)
        return found[-1] if found else None

    def minutes(self, benchmark: str) -> float | None:
        """Return how long the last run of the benchmark took, or None if that was not kept."""
        took = {
            line["run.arguments"]: line.get("run.seconds")
            for line in self.lines(benchmark)
            if line.get("run.seconds") is not None
        }
        return sum(took.values()) / 60 if took else None


def read(path: Path) -> list[Line]:
    return [
        Line(path.stem, number, json.loads(text))
        for number, text in enumerate(path.read_text().splitlines(), 1)
        if text.strip()
    ]

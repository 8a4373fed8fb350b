"""The lines that benchmarks printed, as they were kept.

A file has the lines of one benchmark. If a cell was measured more than once, the last line counts.
Every line knows its place in the file, so that a page can link to it.
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
    """A line that a benchmark printed, and its place in the file."""

    benchmark: str
    number: int
    values: dict[str, Any]

    def __getitem__(self, path: str) -> Any:
        """Return a value; dots in the path lead to nested values."""
        found: Any = self.values
        for name in path.split("."):
            found = found[name]
        return found

    def get(self, path: str) -> Any:
        """Return a value, or None if it is missing."""
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
        """Return all lines that have these values."""
        return [line for line in self.files.get(benchmark, ()) if line.fits(wanted)]

    def last(self, benchmark: str, /, **wanted: Any) -> Line | None:
        """Return the last line that has these values."""
        found = self.lines(benchmark, **wanted)
        return found[-1] if found else None

    def minutes(self, benchmark: str) -> float | None:
        """Return the minutes of the last run of a benchmark, or None if they were not kept."""
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

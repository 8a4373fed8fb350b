"""Write `docs/benchmarks.md` and its figures from results."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.book import claims, papers
from benchmarks.book.parts import Part, Section
from benchmarks.book.registry import BENCHMARKS
from benchmarks.book.results import Results
from benchmarks.book.rows import FOLDER, Row, number, worst
from benchmarks.book.sections.generator import generator
from benchmarks.book.sections.growth import growth
from benchmarks.book.sections.joining import joining
from benchmarks.book.sections.nexmark import nexmark
from benchmarks.book.sections.optimistic import optimistic
from benchmarks.book.sections.own import own
from benchmarks.book.sections.peers import peers
from benchmarks.book.sections.sorting import sorting
from benchmarks.book.sections.spark import on_spark
from benchmarks.book.sections.trill import trill
from benchmarks.book.sections.waiting import waiting
from benchmarks.book.stamp import ROOT

PAGE = ROOT / "docs/benchmarks.md"

SECTIONS = (
    Section("Impatience sort", papers.IMPATIENCE.reference + ".", sorting),
    Section("The Impatience framework", "The same paper.", waiting),
    Section("Quality-driven joins", papers.JOINS.reference + ".", joining),
    Section("Optimistic", papers.OPTIMISTIC.reference + ".", optimistic),
    Section("The generator", papers.GENERATOR.reference + ".", generator),
    Section("Trill", papers.TRILL.reference + ".", trill),
    Section("On Spark, against what a user would write", "No paper.", on_spark),
    Section("Against other systems", "No paper: the same files, the same machine, one run.", peers),
    Section("Nexmark", papers.NEXMARK.reference + ".", nexmark),
    Section("How cost grows", "No paper.", growth),
    Section("Other questions", "No paper.", own),
)

_HEAD = """\
# Benchmarks

This page compares our measurements with the numbers of papers, and with the tools that users would
choose otherwise. It is written by `make bench`, or `latecomer bench`, from
[benchmarks/results](../benchmarks/results); do not edit it. `latecomer bench --list` lists the
benchmarks, and `--quick` takes minutes.

A paper's numbers are from its text and its tables; values that it only draws are left out. They
were measured on another machine, often on data that is not public. So a ratio near one means that a
method does here what it did there; look at the ratios *between methods* first. If a benchmark was
run more than once, the last run counts. **A value that is worse than the one beside it is marked as
a loss**, however small.
"""


@dataclass(frozen=True, slots=True)
class Book:
    """The page, and figures by name."""

    text: str
    figures: dict[str, str]

    def write(self, page: Path, results: Path) -> None:
        """Write all files, with links to the results. Figures of an older book are removed."""
        folder = page.with_suffix("")
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.svg"):
            old.unlink()
        for name, svg in self.figures.items():
            (folder / f"{name}.svg").write_text(svg)
        page.write_text(self.text.replace(FOLDER, os.path.relpath(results, page.parent)))


def written(results: Results) -> Book:
    """Return the book, without writing files."""
    made = [(section, list(section.make(results))) for section in SECTIONS]
    parts = [part for _, of_section in made for part in of_section]
    text = [_HEAD, *_losses(made), *_open(parts), "## What the README claims", ""]
    text += [*claims.table(results), ""]
    for section, of_section in made:
        text += [f"## {section.title}", "", section.words, ""]
        text += [line for part in of_section for line in part.text()]
    text += _runs(results)
    figures = {plot.name: plot.svg for part in parts for plot in part.plots}
    return Book("\n".join(text).rstrip() + "\n", figures)


def _losses(made: list[tuple[Section, list[Part]]]) -> Iterator[str]:
    yield "## Losses"
    yield ""
    yield "Each loss is marked in its table. This is the worst one of each table."
    yield ""
    for section, parts in made:
        for part in parts:
            lost = [row for row in part.rows if row.is_loss]
            if lost:
                count = f"{len(lost)} of {len(part.rows)} rows"
                told = _told(worst(lost), part.theirs)
                yield f"- **{section.title}, {part.title.split(':')[0]}**, {count}. {told}"
    yield ""


def _told(row: Row, theirs: str) -> str:
    return f"{row.what}: {number(row.ours, row.unit)}; {theirs}: {row.said}"


def _open(parts: list[Part]) -> Iterator[str]:
    found = [part for part in parts if not part.is_measured]
    some = [
        part for part in parts if part.is_measured and any(row.ours is None for row in part.rows)
    ]
    if found or some:
        yield "## What is not measured yet"
        yield ""
        for part in found:
            yield f"- {part.title} (`{part.benchmark}`)"
        for part in some:
            lost = sum(row.ours is None for row in part.rows)
            yield f"- {part.title} (`{part.benchmark}`): {lost} of {len(part.rows)} rows"
        yield ""


def _runs(results: Results) -> Iterator[str]:
    """Yield a table of the runs: arguments, commit and minutes of each benchmark."""
    yield "## Runs"
    yield ""
    yield "| benchmark | lines | repeats | arguments | commit | minutes |"
    yield "| --- | ---: | --- | --- | --- | ---: |"
    for each in BENCHMARKS:
        lines = results.lines(each.name)
        runs = list(dict.fromkeys(line.get("run.arguments") for line in lines))
        said = ", ".join(f"`{run}`" if run else "none" for run in runs if run is not None) or "–"
        commits = {_commit(line.get("run")) for line in lines} or {"–"}
        minutes = results.minutes(each.name)
        took = "–" if minutes is None else f"{minutes:.1f}"
        cells = (each.name, str(len(lines) or "none"), each.repeats or "–", said)
        yield f"| {' | '.join((*cells, ', '.join(sorted(commits)), took))} |"
    yield ""
    yield "Lines without a commit are older than this column; the history of their file has it."
    yield ""
    machines = [line.get("run.machine") for lines in results.files.values() for line in lines]
    for told in dict.fromkeys(_machine(machine) for machine in machines if machine):
        yield f"- {told}"


def _commit(run: dict[str, Any] | None) -> str:
    if not run:
        return "not kept"
    return f"{run['commit']}{'' if run['clean'] else ', changed'}"


def _machine(machine: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in machine.items())

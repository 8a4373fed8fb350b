"""The parts of a page: a repeated table or figure of a paper, or a question of this project."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from benchmarks.book.plots import Plot
from benchmarks.book.results import Results
from benchmarks.book.rows import Row, table


@dataclass(frozen=True, slots=True)
class Part:
    """One table or figure of a paper, or one question."""

    title: str
    benchmark: str
    words: str = ""
    rows: tuple[Row, ...] = ()
    theirs: str = "the paper"
    plots: tuple[Plot, ...] = ()

    @property
    def is_measured(self) -> bool:
        return any(row.ours is not None for row in self.rows) or bool(self.plots)

    def text(self) -> Iterator[str]:
        yield f"### {self.title}"
        yield ""
        if self.words:
            yield self.words
            yield ""
        if not self.is_measured:
            yield f"**Not measured yet**: `latecomer bench {self.benchmark}` would."
            yield ""
        if self.rows:
            yield from table(self.rows, self.theirs)
            yield ""
        for plot in self.plots:
            yield f"![{plot.title}](benchmarks/{plot.name}.svg)"
            yield ""


@dataclass(frozen=True, slots=True)
class Section:
    """A paper, or a group of questions."""

    title: str
    words: str
    make: Callable[[Results], Iterable[Part]]

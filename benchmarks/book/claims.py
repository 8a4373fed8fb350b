"""Statements about speed in the README and on other pages, and the lines that prove them.

`make bench` updates the numbers in these sentences. A test checks that the pages have them, and
that the README has no other factors ("3×").
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from benchmarks.book.results import Line, Results
from benchmarks.book.rows import place

ROWS = "× the rows per second"
_MINUTE = {"cell": "spark cloud Q3", "window": "1 minute"}
_SECOND = {"cell": "spark cloud Q3", "window": "1 second"}


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim, and the words of a page around its number, which is written as `{}`."""

    what: str
    words: str
    benchmark: str
    key: str
    wanted: dict[str, Any] = field(default_factory=dict)
    """Only lines with these values count."""
    is_most: bool = False
    """Whether the number is the largest of all lines, for "up to"; otherwise the last one."""

    def line(self, results: Results) -> Line | None:
        lines = results.lines(self.benchmark, **self.wanted)
        found = [line for line in lines if line.get(self.key) is not None]
        if self.is_most:
            return max(found, key=lambda line: line[self.key], default=None)
        return found[-1] if found else None

    def said(self, results: Results) -> str | None:
        """Return the words with the number."""
        line = self.line(results)
        return self.words.format(line[self.key]) if line else None

    def written(self, text: str, results: Results) -> str:
        """Replace the number in a text, wherever the text breaks the words into lines."""
        line = self.line(results)
        if line is None:
            return text
        before, after = (
            r"\s+".join(re.escape(word) for word in part.split(" "))
            for part in self.words.split("{}")
        )
        return re.sub(rf"({before})[\d.]+({after})", rf"\g<1>{line[self.key]}\g<2>", text)


README = (
    Claim(
        "three waits, over a query for each, windows of a minute, on the driver",
        "{}" + ROWS + " of three Spark queries in windows of a minute",
        "waits",
        "driver_over_three",
        _MINUTE,
    ),
    Claim(
        "the same, windows of a second, in buckets",
        "and {}× in windows of a second",
        "waits",
        "over_three",
        _SECOND,
    ),
    Claim(
        "three waits, over a query for each, windows of a minute, in buckets",
        "these windows of a minute process {}× the rows of three Spark queries",
        "waits",
        "over_three",
        _MINUTE,
    ),
    Claim(
        "three waits, over one query, windows of a minute, in buckets",
        "and only {}× those of one",
        "waits",
        "over_spark",
        _MINUTE,
    ),
    Claim(
        "streaming sort, over `transformWithState` by hand, times the rows per second",
        "{}" + ROWS + " of one written by hand",
        "spark_sort",
        "over_buffer",
    ),
    Claim(
        "streaming sort, over copying the rows through Python, times the rows per second",
        "{}× those of copying all rows through Python",
        "spark_sort",
        "over_identity",
    ),
    Claim(
        "first micro-batch of a session, seconds longer than one that only reads",
        "The first micro-batch takes {} s longer",
        "spark_sort",
        "first_batch_over_nothing",
    ),
    Claim(
        "of that, seconds that are not Spark's own start",
        "all but {} s of that",
        "spark_sort",
        "first_batch_over_stateful",
    ),
)

_COSTLY = {"question": "costly", "cell": "by id"}
_CHEAP = {"question": "cheap", "cell": "by id"}

PAGES = {
    "README.md": README,
    "docs/progressive.md": (
        Claim(
            "first early answer, costly rows",
            "first of three answers after {} of the time",
            "progressive",
            "first_over_spark",
            _COSTLY,
        ),
        Claim(
            "last answer, costly rows",
            "the last after {} of it",
            "progressive",
            "total_over_spark",
            _COSTLY,
        ),
        Claim(
            "first early answer, cheap rows",
            "the first answer comes after {} of Spark's time",
            "progressive",
            "first_over_spark",
            _CHEAP,
        ),
        Claim(
            "last answer, cheap rows",
            "the last after {}. If",
            "progressive",
            "total_over_spark",
            _CHEAP,
        ),
    ),
    "docs/recall.md": (
        Claim(
            "three recalls over one fixed wait",
            "take up to {} times as long",
            "recall",
            "over_fixed",
            {"within": None},
            is_most=True,
        ),
        Claim(
            "three recalls over one fixed wait on Spark, a sort",
            "a sort takes {} times as long",
            "recall_spark",
            "over_fixed",
            {"query": "sort", "way": "recalls"},
        ),
        Claim(
            "three recalls over one fixed wait on Spark, windows",
            "windows of a second take {} times as long",
            "recall_spark",
            "over_fixed",
            {"query": "windows", "way": "recalls"},
        ),
    ),
    "docs/sort.md": (
        Claim(
            "clocks of keys over one clock",
            "They take up to {} times as long as with one clock",
            "clocks",
            "times_as_long",
            is_most=True,
        ),
    ),
}
"""The claims of each page."""


def table(results: Results) -> Iterator[str]:
    """Return the claims as a table, with the lines that prove them."""
    yield "| the README says | | printed by | |"
    yield "| --- | ---: | --- | --- |"
    for claim in README:
        line = claim.line(results)
        value = f"{line[claim.key]}" if line else "**not measured yet**"
        at = f"`{claim.key}`, [line {line.number}]({place(line)})" if line else f"`{claim.key}`"
        yield f"| {claim.what} | {value} | `latecomer bench {claim.benchmark}` | {at} |"

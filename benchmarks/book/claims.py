"""What the README says of speed, and the line that proves it.

Each claim is the sentence as it stands in the README, with a place for the number. A test checks
that the sentence with the number of the results is there, and that the README has no other
"so many times" than these.
"""

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
    """A sentence, or a part of one, with `{}` for the number."""

    words: str
    benchmark: str
    key: str
    wanted: dict[str, Any] = field(default_factory=dict)

    def line(self, results: Results) -> Line | None:
        found = results.lines(self.benchmark, **self.wanted)
        return next((line for line in reversed(found) if line.get(self.key) is not None), None)

    def said(self, results: Results) -> str | None:
        """Put the number in."""
        line = self.line(results)
        return self.words.format(line[self.key]) if line else None


README = (
    Claim("{}" + ROWS + " of the last column", "spark_sort", "over_buffer"),
    Claim("against copying the rows through Python | {}" + ROWS, "spark_sort", "over_identity"),
    Claim(
        "micro-batch in a fresh session takes {} s longer", "spark_sort", "first_batch_over_nothing"
    ),
    Claim("all but {} s of that", "spark_sort", "first_batch_over_stateful"),
    Claim("{}" + ROWS + " in windows of a minute", "waits", "driver_over_three", _MINUTE),
    Claim("{}× in windows of a second | 1× | – | | three waits", "waits", "over_three", _SECOND),
    Claim(
        "against one such query | {}× in windows of a minute", "waits", "driver_over_spark", _MINUTE
    ),
    Claim("{}× in windows of a second | 1× | – | | sessions", "waits", "over_spark", _SECOND),
    Claim("these figures are {}×", "waits", "over_three", _MINUTE),
    Claim("and {}×. Windows of a second", "waits", "over_spark", _MINUTE),
    Claim("on the driver these are {}×", "waits", "driver_over_three", _SECOND),
    Claim("and {}×. The other figures", "waits", "driver_over_spark", _SECOND),
)


def table(results: Results) -> Iterator[str]:
    """Write the claims with what proves them."""
    yield "| the README says | printed by | key | |"
    yield "| --- | --- | --- | --- |"
    for claim in README:
        line, said = claim.line(results), claim.said(results)
        command = f"`latecomer bench {claim.benchmark}`"
        at = f"[line {line.number}]({place(line)})" if line else "**not measured yet**"
        words = (said or claim.words.format("…")).replace("|", "–").replace("– – –", "–")
        yield f"| … {words} | {command} | `{claim.key}` | {at} |"

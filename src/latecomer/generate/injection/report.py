"""The result of making a stream disordered, and its measures."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from latecomer.generate.injection.fraction import GOOD, Found
from latecomer.profile.measures import Disorder, Measures, measure, order_measures
from latecomer.profile.tally import MOST_MEASURED
from latecomer.time import format_duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from latecomer.generate.injection.fates import Injection

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of making a stream disordered: its injection and its counts."""

    injection: Injection
    rows: int
    timed: int
    """Rows that have a time."""
    source_out_of_order: int
    undelayed: Found
    """The counts with outages and overrides alone."""
    found: Found

    @property
    def fraction(self) -> float:
        """The true share of rows out of order."""
        return self.found.out_of_order / self.timed if self.timed else 0.0

    def why_missed(self) -> str | None:
        """Return the reason why the fraction was not met; None if it was."""
        asked, got = self.injection.fraction, self.fraction
        if abs(asked - got) <= GOOD or not self.timed:
            return None
        start = f"asked for {_percent(asked)} of the rows out of order, got {_percent(got)}:"
        if self.undelayed.out_of_order > asked * self.timed:
            source = self.source_out_of_order / self.timed
            patterns = self.undelayed.out_of_order / self.timed
            return (
                f"{start} {_percent(source)} are so in the source, before any is delayed"
                + (f", and {_percent(patterns)} with the patterns" if patterns > source else "")
                + ".\n"
                "Hint: ask for more; or sort the source first, or name its arrival column, if the "
                "order of its rows means nothing."
            )
        if abs(asked - got) * self.timed <= 1:
            count = f"are only {self.timed:,} rows" if self.timed > 1 else "is only 1 row"
            return f"{start} there {count}, and no count comes closer."
        return (
            f"{start} a delayed row is out of order only if a newer one overtakes it, and not "
            f"enough were, for any share that was tried. The delays, {self.injection.delay.text}, "
            "are short against the gaps between rows, or too much alike.\n"
            "Hint: use longer or more varied delays, or ask for less."
        )


@dataclass(frozen=True, slots=True)
class DisorderReport:
    """The numbers of a stream that was made disordered."""

    asked: float
    fraction: float
    """The share of rows out of order, among rows that have a time."""
    source_fraction: float
    rows: int
    without_time: int
    delayed: int
    disorder: Disorder | None
    """The delays of the result; None above 100 million rows, where they are not measured."""
    measures: Measures | None

    @classmethod
    def of(cls, result: DataFrame | pa.Table, outcome: Outcome) -> DisorderReport:
        """Return the report on a result."""
        time, timed = outcome.injection.time, outcome.timed
        disorder = measures = None
        if timed <= MOST_MEASURED:
            table = (
                result.select([time.name])
                if isinstance(result, pa.Table)
                else result.select(f"`{time.name}`").toArrow()
            )
            times = time.micros(table)[~time.is_null(table)]
            log.info("measuring the result")
            disorder, measures = measure(times), order_measures(times)
        return cls(
            asked=outcome.injection.fraction,
            fraction=outcome.fraction,
            source_fraction=outcome.source_out_of_order / timed if timed else 0.0,
            rows=outcome.rows,
            without_time=outcome.rows - timed,
            delayed=outcome.found.delayed,
            disorder=disorder,
            measures=measures,
        )

    def __str__(self) -> str:
        lines = [
            f"{self.rows:,} rows, {_percent(self.fraction)} of them out of order",
            f"asked for  {_percent(self.asked)}; {_percent(self.source_fraction)} in the source",
            f"delayed    {self.delayed:,} rows",
        ]
        if self.without_time:
            lines.append(f"no time    {self.without_time:,} rows, kept and not delayed")
        if self.disorder is None or self.measures is None:
            return "\n".join([*lines, "measures   not taken: too many rows for one process"])
        shares = self.disorder.quantiles.items()
        behind = [
            *(f"{100 * share:g} % {format_duration(delay)}" for share, delay in shares),
            f"largest {format_duration(self.disorder.largest)}",
        ]
        four = [f"{name} {count:,}" for name, count in asdict(self.measures).items()]
        return "\n".join(
            [*lines, f"delays     {', '.join(behind)}", f"measures   {', '.join(four)}"]
        )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"

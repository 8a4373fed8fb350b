"""The results that waits and recalls would have had on a recorded stream, as text, JSON or a page.

`report.trial` runs the query once for each; this module formats the results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from latecomer.batch import Batch
from latecomer.errors import OptionError
from latecomer.plan import Plan
from latecomer.report.page import Page, Table, section
from latecomer.report.trial import Error, Trial, in_arrival_order, tried, truth
from latecomer.report.words import aligned, percent, readable
from latecomer.time import SECOND, Duration, format_duration, parse_duration

if TYPE_CHECKING:
    from pathlib import Path


Asked = str
"""A wait in words, or "recall 0.99"."""
MICRO_BATCHES = 500
"""Approximate number of micro-batches that a recording is cut into by default."""
_WIDTH = 100
_HEAD = ("wait or recall", "rows late", "answers wrong", "answers come", "held")
_ERRORS = ("wait or recall", "aggregate", "wrong", "off by", "at most", "as a share", "at most")


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf:
    """The result that each wait, or recall, would have had on a recorded stream. Print it."""

    trials: Mapping[Asked, Trial]
    """Results by wait or recall: "10 seconds", or "recall 0.99"."""
    micro_batches: int
    order: str
    """Source of the order of arrival: a column, or the order of the rows."""

    @property
    def rows(self) -> int:
        """Number of rows with a usable time."""
        return next(iter(self.trials.values())).rows

    @property
    def answers(self) -> int:
        """Number of answers of a query that misses no row."""
        return next(iter(self.trials.values())).answers

    def to_dict(self) -> dict[str, Any]:
        """Return the results as a dict that JSON can hold; durations are in seconds."""
        return {
            "rows": self.rows,
            "micro_batches": self.micro_batches,
            "order_of_arrival": self.order,
            "answers": self.answers,
            "trials": [_as_dict(asked, trial) for asked, trial in self.trials.items()],
        }

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained HTML page, and return its path."""
        headline, *notes = self.notes()
        page = Page("What if?", headline, "", notes, self.sections(), "Written by Latecomer.")
        return page.write(path)

    def notes(self) -> list[str]:
        """Return notes on the rows, the micro-batches and the order of arrival."""
        rows, batches = f"{self.rows:,} rows", f"{self.micro_batches:,} micro-batches"
        true = f"{rows} in {batches} give {self.answers:,} answers if none of them is late."
        return [true, f"Order of arrival: {self.order}."]

    def sections(self) -> list[str]:
        """Return the sections of a page, as HTML."""
        costs = "Late rows and wrong answers, and what each wait would have cost."
        found = [section("What if?", f"{costs} {_LATER}", "", Table(_HEAD, self._costs()))]
        if errors := self._errors():
            found.append(section("How wrong?", _OFF, "", Table(_ERRORS, errors), kind="names"))
        return found

    def __repr__(self) -> str:
        return f"<WhatIf of {self.rows:,} rows, {', '.join(self.trials)}>"

    def __str__(self) -> str:
        lines = [*self.notes(), "", *aligned([_HEAD, *self._costs()]), "", *wrap(_LATER, _WIDTH)]
        if errors := self._errors():
            lines += ["", *aligned([_ERRORS, *errors]), "", *wrap(_OFF, _WIDTH)]
        return "\n".join([*lines, "", *self._recommended()])

    def _costs(self) -> list[tuple[str, ...]]:
        return [
            (
                _named(asked, trial),
                _share(trial.late, trial.rows),
                _share(trial.wrong + trial.unexpected, trial.answers),
                "at the end" if trial.later is None else f"+ {_duration(trial.later)}",
                f"{trial.held:,.0f}",
            )
            for asked, trial in self.trials.items()
        ]

    def _errors(self) -> list[tuple[str, ...]]:
        return [
            (asked, name, f"{error.wrong:,}", *_written(error))
            for asked, trial in self.trials.items()
            for name, error in trial.errors.items()
            if error.wrong
        ]

    def _recommended(self) -> list[str]:
        right = [
            (trial.average_wait, asked)
            for asked, trial in self.trials.items()
            if not trial.wrong and not trial.unexpected
        ]
        if not right:
            return ["Each of them gives some wrong answers."]
        return [f"No answer is wrong with: {min(right)[1]}."]


_LATER = (
    '"Answers come" is how far the newest row is beyond the end of the window, or beyond the time '
    'of the row, when an answer comes, on average. "Held" is the average number of rows or states.'
)
_OFF = (
    '"Off by" is the error of wrong values, on average and at most: absolutely, and as a share of '
    "the true value. Missing answers are not included."
)


def compared(plans: Mapping[Asked, Plan], rows: Batch, every: int | Duration | None) -> WhatIf:
    """Return the results of plans on rows that are in order of arrival, or have an arrival column.

    Args:
        plans: At least one plan, by wait or recall; all with the same source and operators.
        rows: All rows.
        every: Size of a micro-batch: a number of rows, or a duration by the arrival column.

    Raises:
        OptionError: There are no rows, or `every` does not fit.
    """
    plan = next(iter(plans.values()))
    if not rows.num_rows:
        message = "there are no rows to try a wait on.\nHint: check the file, or the filter."
        raise OptionError(message)
    rows = in_arrival_order(rows, plan)
    cuts = _cuts(rows, plan, every)
    true = truth(plan, rows)
    trials = {asked: tried(each, _cut(rows, cuts), true) for asked, each in plans.items()}
    arrival = plan.source.arrival
    order = f'column "{arrival.name}"' if arrival else "the order of the rows"
    return WhatIf(trials, len(cuts) + 1, order)


def _cuts(rows: Batch, plan: Plan, every: int | Duration | None) -> Sequence[int]:
    """Return the first row of each micro-batch after the first one."""
    if every is None:
        every = max(1, rows.num_rows // MICRO_BATCHES)
    if isinstance(every, int):
        if every < 1:
            raise OptionError(f"a micro-batch needs rows; got every={every}.\nHint: every=1000.")
        return range(every, rows.num_rows, every)
    span, arrival = parse_duration(every, "every"), plan.source.arrival
    if arrival is None or not span:
        raise OptionError(
            f"micro-batches of {every!r} need an arrival column, and a length above 0.\n"
            'Hint: pass arrival="...", or a number of rows, for example every=1000.'
        )
    beats = arrival.micros(rows) // span
    return (np.flatnonzero(beats[1:] != beats[:-1]) + 1).tolist()


def _cut(rows: Batch, cuts: Sequence[int]) -> Iterator[Batch]:
    for start, stop in zip([0, *cuts], [*cuts, rows.num_rows], strict=True):
        yield rows.slice(start, stop - start)


def _as_dict(asked: Asked, trial: Trial) -> dict[str, Any]:
    found = asdict(trial)
    seconds = {
        f"{name}_seconds": None if (micros := found.pop(name)) is None else micros / SECOND
        for name in ("average_wait", "later", "latest")
    }
    return {"asked": asked, **found, **seconds}


def _named(asked: Asked, trial: Trial) -> str:
    is_recall = asked.startswith("recall")
    return f"{asked} ({_duration(trial.average_wait)} on average)" if is_recall else asked


def _share(some: int, of: int) -> str:
    return f"{some:,} ({percent(some, of)})" if some else "0"


def _duration(micros: float) -> str:
    sign = "-" if micros < 0 else ""
    return sign + format_duration(readable(round(abs(micros))))


def _written(error: Error) -> tuple[str, ...]:
    off = ("–" if value is None else f"{value:,.3g}" for value in (error.mean, error.largest))
    shares = (error.mean_relative, error.largest_relative)
    return (*off, *("–" if share is None else f"{100 * share:,.3g} %" for share in shares))

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import latecomer as lc
from latecomer.generate.injection import report
from tests.support.injection_streams import disorder, fraction_of, seconds, stream

if TYPE_CHECKING:
    import pyarrow as pa

    from latecomer.generate.injection.report import DisorderReport


def reported(rows: pa.Table, **options: object) -> DisorderReport:
    seen: list[DisorderReport] = []
    disorder(rows, report=seen.append, **options)
    return seen[0]


def test_the_report_says_what_was_done() -> None:
    seen: list[DisorderReport] = []

    result = disorder(stream(), fraction=0.3, report=seen.append)

    (report,) = seen
    assert (report.rows, report.asked) == (20_000, 0.3)
    assert report.fraction == fraction_of(result)
    assert report.measures is not None
    assert report.measures.runs == 1 + np.count_nonzero(
        np.diff(np.asarray(result["time"]).astype(np.int64)) < 0
    )
    assert str(report).startswith("20,000 rows, 30.0")
    assert "asked for  30.00 %; 0.00 % in the source" in str(report)
    assert "interleaved" in str(report)


def test_rows_without_a_time_are_reported() -> None:
    text = str(reported(seconds(1, None, 2, None, 3), fraction=0))

    assert text.startswith("5 rows, 0.00 % of them out of order")
    assert "no time    2 rows, kept and not delayed" in text


def test_delays_and_measures_are_those_of_the_result() -> None:
    with pytest.warns(lc.FractionWarning):
        found = reported(seconds(10, 14, 12, 19, 13), fraction=0)

    assert found.source_fraction == found.fraction == 0.4
    assert found.disorder is not None
    assert found.disorder.largest == 6_000_000
    assert "50 % 0 seconds, 90 % 6 seconds" in str(found)
    assert str(found).endswith(
        "largest 6 seconds\nmeasures   inversions 3, distance 3, runs 3, interleaved 2"
    )


def test_of_too_many_rows_no_measures_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MOST_MEASURED", 4)

    found = reported(seconds(*range(5)), fraction=0)

    assert found.disorder is found.measures is None
    assert str(found).endswith("measures   not taken: too many rows for one process")
    assert reported(seconds(*range(4)), fraction=0).measures is not None


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        (
            seconds(3, 1, 2),
            {"fraction": 0.1},
            "66.67 % are so in the source, before any is delayed",
        ),
        (
            seconds(1, 2),
            {"fraction": 0.4},
            "got 50.00 %: there are only 2 rows, and no count comes closer.",
        ),
        (seconds(1), {"fraction": 0.5}, "got 0.00 %: there is only 1 row"),
        (
            seconds(*range(0, 1_000, 10)),
            {"fraction": 0.5, "delay": "constant:1s"},
            "The delays, constant:1s, are short against the gaps between rows",
        ),
    ],
    ids=["source", "few rows", "one row", "short delays"],
)
def test_a_fraction_that_is_missed_is_explained(
    rows: pa.Table, options: dict[str, object], words: str
) -> None:
    with pytest.warns(lc.FractionWarning) as caught:
        disorder(rows, **options)

    (warning,) = caught
    assert str(warning.message).startswith("asked for ")
    assert words in str(warning.message)

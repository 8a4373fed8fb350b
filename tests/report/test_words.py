"""Rounded numbers in words are never better than the exact ones."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.api.profile import profile_batches, source_of
from latecomer.report.words import headline, percent, readable
from latecomer.time import format_duration, parse_duration


@pytest.mark.parametrize(
    ("rows", "of", "text"),
    [
        (0, 7, "0.00 %"),
        (7, 7, "100 %"),
        (1, 1_000_000, "< 0.01 %"),
        (999_999, 1_000_000, "99.99 %"),
        (2, 3, "66.66 %"),
    ],
)
def test_a_share_is_rounded_down(rows: int, of: int, text: str) -> None:
    assert percent(rows, of) == text


def test_a_share_of_whole_hundredths_of_a_percent_is_written_as_it_is() -> None:
    assert [percent(n, 10_000) for n in range(1, 10_000)] == [
        f"{n // 100}.{n % 100:02} %" for n in range(1, 10_000)
    ]


@given(micros=st.integers(0, 2**62))
def test_the_text_of_a_wait_is_no_shorter_than_the_wait(micros: int) -> None:
    rounded = readable(micros)

    assert micros <= rounded <= micros * 1.011
    assert parse_duration(format_duration(rounded).replace(",", ""), "wait") == rounded


@pytest.mark.parametrize(
    ("rows", "share"), [(3, "33.3 %"), (300_000, "0.000333 %"), (3_000_000, "less than 0.0001 %")]
)
def test_the_headline_shows_small_shares_without_an_exponent(rows: int, share: str) -> None:
    times = pa.chunked_array([pa.array(range(1, rows)), [0]], pa.int64())

    seen = profile_batches([pa.table({"n": times})], source_of("n", None, None, "s"))

    assert f" rows, {share} of them out of order" in headline(seen)

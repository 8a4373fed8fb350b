from __future__ import annotations

import re

from latecomer.live.history import Sample
from latecomer.live.sections import advice, day_and_time, headline, notes, sections
from tests.support.statuses import START, status

SAMPLES = [Sample(START + n * 1_000_000, status(n)) for n in range(40)]


def headings(html: str) -> list[str]:
    return re.findall("<h2>([^<]*)</h2>", html)


def test_a_query_with_all_values_has_all_sections() -> None:
    html = "".join(sections(SAMPLES))

    assert headings(html) == [
        "Now",
        "What each wait would keep now",
        "Delays",
        "Late rows",
        "Watermark",
        "Wait",
        "Recall",
        "Late rows by key",
        "Micro-batches",
    ]
    assert "<device" not in html


def test_a_query_without_values_has_only_the_first_section() -> None:
    assert headings("".join(sections([Sample(0, {})]))) == ["Now"]


def test_the_headline_shows_the_state_of_the_query() -> None:
    assert headline(SAMPLES[2]) == (
        "30,000 rows in, 14 of them late (0.04 %); the watermark is 52 seconds behind the newest "
        "row."
    )
    assert headline(Sample(0, {"rows": {"in": 5}})) == "5 rows in, 0 of them late (0.00 %)."
    assert headline(Sample(0, {})) == "No rows have come yet."


def test_advice_names_each_wait_once_and_none_that_is_not_known() -> None:
    said = re.sub("<[^>]*>", " ", advice(SAMPLES[-1]))

    # 0.1 % of the rows came later than the last bound, so no wait for all rows is known.
    assert '99 % of the rows in time:  wait="1 minute"' in said
    assert '99.9 % of the rows in time:  wait="10 minutes"' in said
    assert "all rows" not in said


def test_advice_can_be_about_the_rows_of_the_last_while() -> None:
    before = Sample(0, {"delays": [[0, 0], [1_000, 100]]})
    now = Sample(1, {"delays": [[0, 1_000], [1_000, 100]]})

    assert 'wait="1 second"' in advice(now)
    assert 'wait="0 seconds"' in advice(now, before)
    assert "these 1,000 rows" in "".join(sections([now], before))


def test_notes_say_which_micro_batch_it_is() -> None:
    assert next(notes(SAMPLES[3])) == "Taken at 22:13:23 UTC; run 77aa, micro-batch 3."


def test_a_time_that_no_calendar_has_is_a_number() -> None:
    assert day_and_time(0) == "1970-01-01 00:00:00"
    assert day_and_time(2**62) == f"{2**62:,}"

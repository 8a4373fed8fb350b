"""The results that other waits would have had: in words, as JSON, on a page."""

import json
from pathlib import Path
from textwrap import wrap

import pyarrow as pa
import pytest

from latecomer import agg
from latecomer.api.profile import profile
from latecomer.clock.policy import OneClock
from latecomer.errors import OptionError
from latecomer.operators.aggregates.summary import Summary
from latecomer.operators.windows.aggregate import Aggregation
from latecomer.operators.windows.grid import Windows
from latecomer.plan import Plan, Source, Stage
from latecomer.report.what_if import _LATER, _OFF, WhatIf, compared
from latecomer.time import TimeColumn

SECOND = 1_000_000
TIME = TimeColumn("time")


def rows(*seconds: int, arrivals: list[int] | None = None) -> pa.Table:
    times = pa.array(seconds, pa.timestamp("s")).cast(pa.timestamp("us"))
    made = pa.table({"time": times, "price": [float(second) for second in seconds]})
    return made if arrivals is None else made.append_column("at", pa.array(arrivals, pa.int64()))


def plans(*waits: int, arrival: bool = False) -> dict[str, Plan]:
    source = Source(TIME, arrival=TimeColumn("at", "s") if arrival else None)
    summary = Summary((), (("n", agg.count()), ("top", agg.max("price"))))
    grid = Windows(10 * SECOND, 10 * SECOND)
    return {
        f"{wait} seconds": Plan(
            source,
            OneClock((wait * SECOND,)),
            "drop",
            (Stage((), (Aggregation(TIME, grid, (wait * SECOND,), (summary,)),)),),
        )
        for wait in waits
    }


def found() -> WhatIf:
    # The row at 3 s comes when the newest time is 12 s; the row at 19 s when it is 25 s.
    return compared(plans(0, 15), rows(1, 2, 12, 3, 25, 19, 30, 41), every=1)


def test_the_result_can_be_printed_in_words() -> None:
    assert str(found()).split("\n") == [
        "8 rows in 8 micro-batches give 5 answers if none of them is late.",
        "Order of arrival: the order of the rows.",
        "",
        "wait or recall     rows late   answers wrong     answers come   held",
        "0 seconds        2 (25.00 %)     2 (40.00 %)   + 2.34 seconds      2",
        "15 seconds                 0               0     + 15 seconds      2",
        "",
        *wrap(_LATER, 100),
        "",
        "wait or recall   aggregate   wrong   off by   at most   as a share   at most",
        "0 seconds                n       2        1         1       41.7 %      50 %",
        "0 seconds              top       2        4         7       35.1 %    36.8 %",
        "",
        *wrap(_OFF, 100),
        "",
        "No answer is wrong with: 15 seconds.",
    ]


def test_if_no_wait_is_long_enough_it_says_so() -> None:
    alone = compared(plans(0), rows(1, 12, 3), every=1)

    assert str(alone).endswith("\n\nEach of them gives some wrong answers.")


def test_json_has_the_whole_result() -> None:
    answer = json.loads(json.dumps(found().to_dict()))

    assert (answer["rows"], answer["micro_batches"], answer["answers"]) == (8, 8, 5)
    first, second = answer["trials"]
    assert (first["asked"], first["late"], first["wrong"], first["wrong_windows"]) == (
        "0 seconds",
        2,
        2,
        2,
    )
    assert first["errors"]["n"]["largest_relative"] == 0.5
    assert (second["average_wait_seconds"], second["wrong"]) == (15, 0)


def test_the_result_is_shown_on_its_own_page_and_on_that_of_a_profile(tmp_path: Path) -> None:
    alone = found().to_html(tmp_path / "new" / "alone.html").read_text()
    whole = profile(rows(1, 2, 12, 3), time="time").to_html(tmp_path / "p.html", what_if=found())

    for page in (alone, whole.read_text()):
        assert "<h2>What if?</h2>" in page
        assert "<h2>How wrong?</h2>" in page
        assert '<tr><th scope="row">15 seconds</th><td>0</td><td>0</td>' in page


def test_micro_batches_are_cut_by_rows_or_by_arrival() -> None:
    given = rows(1, 12, 3, 13, arrivals=[0, 70, 59, 61])

    assert compared(plans(0), given, every=3).micro_batches == 2
    assert compared(plans(0), given, every=None).micro_batches == 4
    minutes = compared(plans(0, arrival=True), given, every="1 minute")
    assert (minutes.micro_batches, minutes.order) == (2, 'column "at"')


@pytest.mark.parametrize("every", [0, "1 minute", "0 seconds"])
def test_micro_batches_that_cannot_be_are_refused(every: int | str) -> None:
    with pytest.raises(OptionError, match="Hint"):
        compared(plans(0), rows(1), every=every)


def test_without_rows_there_is_nothing_to_try() -> None:
    with pytest.raises(OptionError, match="no rows to try a wait on"):
        compared(plans(0), rows(), every=1)

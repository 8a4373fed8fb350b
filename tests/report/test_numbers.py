from __future__ import annotations

import json
from datetime import date

import pyarrow as pa
import pytest

import latecomer as lc
from latecomer.report.numbers import KEYS_TOLD, as_dict


def told(*times: int, **columns: list[object]) -> dict:
    rows = pa.table({"time": pa.array(times, pa.int64()), **columns})
    profile = lc.profile(rows, time="time", unit="s", key=list(columns) or None)
    return json.loads(json.dumps(as_dict(profile), allow_nan=False))


def test_durations_are_in_seconds() -> None:
    found = told(10, 14, 12, 19, 13)

    assert (found["rows"], found["out_of_order"], found["fraction"]) == (5, 2, 0.4)
    assert found["largest_seconds"] == 6
    assert found["wait_for_seconds"]["0.99"] == 6
    assert found["relative_error_of_waits"] == 0


def test_each_wait_shows_the_rows_that_it_keeps_and_its_cost() -> None:
    first, *_, last = told(10, 14, 12, 19, 13)["waits"]

    assert (first["wait_seconds"], first["in_time"], first["late"], first["held"]) == (0, 3, 2, 0)
    assert (last["wait"], last["share"], last["late"]) == ("6 seconds", 1, 0)
    # Three rows are held for 6 s, one for 4 s and one not at all, while the clock advances by 9 s.
    assert last["held"] == pytest.approx(22 / 9)


def test_the_measures_of_order_are_shown_by_name() -> None:
    assert told(10, 14, 12, 19, 13)["measures"] == {
        "inversions": 3,
        "distance": 3,
        "runs": 3,
        "interleaved": 2,
    }


def test_without_a_key_there_are_no_keys() -> None:
    assert told(1, 2)["keys"] is None


def test_keys_are_what_json_can_hold() -> None:
    found = told(
        *(3, 2, 1),
        day=[date(2024, 2, 29)] * 3,
        number=[1.5, float("nan"), float("-inf")],
        word=["a", None, "c"],
    )

    assert [each["key"] for each in found["keys"]["worst"]] == [
        ["2024-02-29", "-inf", "c"],
        ["2024-02-29", "nan", None],
        ["2024-02-29", 1.5, "a"],
    ]


def test_the_worst_keys_and_the_number_of_keys_are_shown() -> None:
    found = told(*range(150, 0, -1), key=list(range(150)))["keys"]

    assert found["count"] == 150
    assert len(found["worst"]) == KEYS_TOLD
    assert found["worst"][0] == {
        "key": [149],
        "rows": 1,
        "out_of_order": 1,
        "largest_seconds": 149,
    }

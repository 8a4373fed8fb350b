"""The events of `benchmarks.nexmark`, its queries, and what is made of other systems' answers."""

import argparse
from datetime import timedelta
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from benchmarks import nexmark
from benchmarks.nexmark import printed_by_flink
from benchmarks.nexmark_data import BEGIN, DAY_AFTER, SPAN, WAIT, Events, make, write
from benchmarks.nexmark_queries import QUERIES, READ, Streams, timed
from benchmarks.nexmark_spark import OWN, UNSUPPORTED
from benchmarks.nexmark_sql import SQL, answers, differences
from benchmarks.peer_programs.nexmark_on_flink import QUERIES as ON_FLINK
from benchmarks.peer_programs.nexmark_on_flink import reason
from benchmarks.peers import PeerError

FEW = 3_000


@pytest.fixture(scope="module")
def events() -> Events:
    return make(FEW)


@pytest.fixture(scope="module")
def right(events: Events) -> dict[str, pa.Table]:
    return dict(answers(events))


@pytest.fixture(scope="module")
def streams(events: Events, spark: SparkSession) -> Streams:
    dfs = [timed(spark.createDataFrame(table)) for table in events.tables.values()]
    return Streams(*dfs, timedelta(milliseconds=events.longest))


def test_the_same_seed_gives_the_same_events(events: Events) -> None:
    assert make(FEW) == events
    assert make(FEW, seed=2).bids != events.bids


def test_of_fifty_events_one_is_a_person_and_three_are_auctions(events: Events) -> None:
    counts = [table.num_rows for table in events.tables.values()]

    assert counts == [FEW // 50, 3 * FEW // 50, 46 * FEW // 50]


def test_rows_refer_to_rows_that_came_before(events: Events) -> None:
    opened = dict(zip(*(events.auctions[n].to_pylist() for n in ("id", "time_ms")), strict=True))
    joined = dict(zip(*(events.persons[n].to_pylist() for n in ("id", "time_ms")), strict=True))

    for bid in events.bids.to_pylist():
        assert opened[bid["auction"]] <= bid["time_ms"]
        assert joined[bid["bidder"]] <= bid["time_ms"]
    for auction in events.auctions.to_pylist():
        assert joined[auction["seller"]] <= auction["time_ms"]
        assert 0 < auction["expires_ms"] - auction["time_ms"] <= events.longest


def test_three_of_ten_events_come_after_a_newer_one_but_within_the_wait(events: Events) -> None:
    rows = [
        row
        for table in events.tables.values()
        for row in table.select(["time_ms", "arrival_ms"]).to_pylist()
    ]
    rows.sort(key=lambda row: row["arrival_ms"])
    newest, behind = 0, []
    for row in rows:
        newest = max(newest, row["time_ms"])
        behind.append(newest - row["time_ms"])

    assert sum(each > 0 for each in behind) / len(behind) == pytest.approx(0.3, abs=0.02)
    assert max(behind) < WAIT
    assert all(row["arrival_ms"] >= row["time_ms"] for row in rows)


def test_all_files_together_have_all_rows_and_the_last_closes_the_rest(
    events: Events, tmp_path: Path
) -> None:
    write(events, tmp_path, batches=3)

    for name, table in events.tables.items():
        batches = [path.read_text().splitlines() for path in _files(tmp_path, "batches", name)]
        parts = [path.read_text().splitlines() for path in _files(tmp_path, "parts", name)]
        assert [len(batch) > 0 for batch in batches] == [True] * 4
        assert sum(map(len, batches[:-1])) == table.num_rows
        assert sorted(chain(*batches[:-1])) == sorted(chain(*parts))
        arrivals = [int(line.rsplit(",", 1)[1]) for batch in batches for line in batch]
        assert arrivals == sorted(arrivals)
        assert arrivals[-1] == DAY_AFTER
        assert BEGIN <= arrivals[0] < arrivals[-2] < BEGIN + SPAN + WAIT


def _files(folder: Path, kind: str, name: str) -> list[Path]:
    return sorted((folder / kind / name).iterdir())


@pytest.mark.parametrize("query", list(QUERIES))
def test_a_query_has_the_answer_of_sql(
    query: str, streams: Streams, right: dict[str, pa.Table]
) -> None:
    made = QUERIES[query](streams)

    found = made.answer(made.stream.to_df()).toArrow()

    assert right[query].num_rows > 0
    assert differences(query, right[query], found) == (0, 0)


def test_differences_are_counted_on_both_sides() -> None:
    right = pa.table({"auction": [1, 2, 2], "price": [5, 6, 6]})
    found = pa.table({"auction": [1, 2, 3], "price": [5, 6, 7]})

    assert differences("q2", right, right) == (0, 0)
    assert differences("q2", right, found) == (1, 1)


def test_rows_of_the_day_after_are_not_compared() -> None:
    right = pa.table({"bidder": [1], "at_ms": [BEGIN], "n": [2]})
    closing = pa.table({"bidder": [-1], "at_ms": [DAY_AFTER], "n": [1]})

    assert differences("q12", right, pa.concat_tables([right, closing])) == (0, 0)


def test_an_average_that_is_replaced_by_a_later_one_does_not_count() -> None:
    right = pa.table({"category": [10], "price": [2.0]})
    found = pa.table({"category": [10, 10], "price": [2.0, 9.0], "at_ms": [7, 3]})

    assert differences("q4", right, found) == (0, 0)


def test_updates_that_are_printed_replace_each_other() -> None:
    right = pa.table({"category": [10, 11], "price": [2.5, 3.0]})
    said = "few-q4:1> +I[9, 1.0]\nq4:1> +I[10, 1.0]\nq4:2> +I[11, 3.0]\nq4:1> -U[10, 1.0]\n"
    said += 'q4:1> +U[10, 2.5]\n{"query": "q4"}\nq4> +I[12, 1.0]\nq4> -D[12, 1.0]\n'

    found = printed_by_flink("q4", said, right)

    assert found.equals(right)
    assert differences("q4", right, found) == (0, 0)


def test_the_reason_why_flink_failed_is_the_last_cause() -> None:
    error = "An error occurred while calling o1.await.\n: java.util.ExecutionException: it failed\n"
    error += "\tat A.b(A.java:1)\nCaused by: it was ended\n\t... 6 more\nCaused by: no room\n"

    assert reason(error + "\tat C.d(C.java:2)\n") == "no room"
    assert reason("no Java\n") == "no Java"


def test_a_query_of_flink_that_fails_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def done(command: list[str], patience: int = 0) -> str:
        query = command[-1]
        if query == "q1":
            raise PeerError(f"it took more than {patience} s")
        return f'{{"query": "{query}", "system": "Flink", "error": "no room"}}\n'

    monkeypatch.setattr(nexmark, "python", lambda *_: "python")
    monkeypatch.setattr(nexmark, "done", done)
    asked = {"events": FEW, "quick": False, "query": ["q1", "q2"], "system": ["Flink"]}
    arguments = argparse.Namespace(**asked, environments=tmp_path)

    found = {line["query"]: line["error"] for line in nexmark.measured(arguments, tmp_path)}

    assert found == {"q1": f"it took more than {nexmark.LIMIT} s", "q2": "no room"}


def test_every_system_has_every_query_or_a_reason() -> None:
    assert set(SQL) == set(READ) == set(ON_FLINK) == set(QUERIES)
    assert {*OWN, *UNSUPPORTED} == set(QUERIES)

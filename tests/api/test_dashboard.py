from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

import latecomer as lc

if TYPE_CHECKING:
    from pathlib import Path


def query(name: str) -> SimpleNamespace:
    """Return what looks like Spark's query, and has run two micro-batches."""
    progresses = [
        {
            "id": name,
            "runId": "77aa",
            "name": name,
            "batchId": batch,
            "sources": [{"numInputRows": 100}],
            "observedMetrics": {"latecomer_1": {"ready": 90, "late": 3}},
        }
        for batch in (0, 1)
    ]
    told = [SimpleNamespace(json=json.dumps(progress)) for progress in progresses]
    return SimpleNamespace(recentProgress=told)


def fetched(url: str) -> str:
    with urlopen(url, timeout=60) as answer:  # noqa: S310  our own server
        return answer.read().decode()


def served(*queries: str, **options: Any) -> lc.Dashboard:  # noqa: ANN401
    return lc.dashboard(*map(query, queries), **options)  # type: ignore[arg-type]


def test_the_status_of_each_query_is_shown_until_it_is_stopped() -> None:
    with served("orders", "payments") as page:
        orders, payments = json.loads(fetched(f"{page.url}status.json"))
        assert (orders["query"], payments["query"]) == ("orders", "payments")
        assert orders["rows"] == {"in": 200, "ready": 180, "late": {"late": 6}, "dropped": 0}
        assert "<title>orders, live</title>" in fetched(page.url)
        assert repr(page) == f"<Dashboard at {page.url}>"
    with pytest.raises(URLError):
        fetched(page.url)


def test_away_from_this_machine_its_address_has_a_token() -> None:
    with served("orders", host="0.0.0.0") as page:  # noqa: S104
        assert "?token=" in page.url


def test_answers_are_read_from_the_output_that_is_named(tmp_path: Path) -> None:
    with served("orders", answers=tmp_path / "nowhere") as page:
        assert "there is no directory" in fetched(page.url)

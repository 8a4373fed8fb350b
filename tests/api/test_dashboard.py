from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

import latecomer as lc
from latecomer.api import dashboard as module

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace queries by their names."""
    monkeypatch.setattr(
        module, "status", lambda name: SimpleNamespace(to_dict=lambda: {"query": name})
    )


def fetched(url: str) -> str:
    with urlopen(url, timeout=60) as answer:  # noqa: S310  our own server
        return answer.read().decode()


def served(*queries: str, **options: Any) -> lc.Dashboard:  # noqa: ANN401
    return lc.dashboard(*queries, **options)  # type: ignore[arg-type]


def test_the_status_of_each_query_is_shown_until_it_is_stopped() -> None:
    with served("orders", "payments") as page:
        assert json.loads(fetched(f"{page.url}status.json")) == [
            {"query": "orders"},
            {"query": "payments"},
        ]
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

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from latecomer.demo.summary import show
from tests.support.demo_locally import locally

if TYPE_CHECKING:
    from latecomer.demo.outcome import Outcome


def shown(outcome: Outcome) -> str:
    screen = StringIO()
    show(Console(file=screen, width=80), outcome)
    return screen.getvalue()


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return locally()


def test_the_demo_prints_the_output_in_the_readme(outcome: Outcome) -> None:
    readme = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")
    block = readme.partition("$ latecomer demo\n")[2].partition("```")[0]
    printed = [line.rstrip() for line in shown(outcome).splitlines()]

    assert len(block.splitlines()) > 10
    assert [line for line in block.splitlines() if line not in printed] == []


def test_the_account_adds_up_on_the_screen(outcome: Outcome) -> None:
    account = [line.split()[:2] for line in shown(outcome).splitlines()[:5]]

    numbers = [int(number.replace(",", "")) for number, _ in account]
    assert numbers[0] == sum(numbers[1:]) == 11_650


def test_recall_and_refinements_are_printed_for_each_wait(outcome: Outcome) -> None:
    lines = [line.split() for line in shown(outcome).splitlines()]

    assert ["1", "hour", "10,076", "89.62", "%", "–"] in lines
    assert ["3", "hours", "10,823", "96.27", "%", "127", "of", "694"] in lines
    assert ["5", "hours", "11,242", "100", "%", "94", "of", "694"] in lines


def test_the_latest_flights_are_shown_first_and_only_some_of_them(outcome: Outcome) -> None:
    text = shown(outcome).partition("The latest of the 12 late flights")[2]
    rows = [line for line in text.splitlines() if " h" in line]

    behind = [float(line.split()[-2]) for line in rows]
    assert len(rows) == 5
    assert behind == sorted(behind, reverse=True)


def test_no_line_is_wider_than_the_screen(outcome: Outcome) -> None:
    assert max(map(len, shown(outcome).splitlines())) <= 80

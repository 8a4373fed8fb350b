from __future__ import annotations

import pytest

from tests.chaos.catalogue import catalogue
from tests.chaos.schedule import Schedule
from tests.chaos.simulator import Simulation, simulate

ENTRIES = catalogue()
SCHEDULES = 1_000
"""`make chaos` runs ten times as many."""
PARTS = 10
FOUND: list[int] = []
"""Seeds of schedules in which something was found once."""


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_is_lost_whatever_breaks(part: int) -> None:
    each = SCHEDULES // PARTS
    for seed in range(part * each, (part + 1) * each):
        simulate(seed, ENTRIES)


@pytest.mark.parametrize("seed", FOUND)
def test_what_was_found_once_holds(seed: int) -> None:
    simulate(seed, ENTRIES)


def test_a_schedule_follows_from_its_seed() -> None:
    first, again = (Simulation(Schedule.draw(7, ENTRIES)) for _ in range(2))
    first.run()
    again.run()

    assert first.world.log == again.world.log
    assert first.world.disk.files == again.world.disk.files

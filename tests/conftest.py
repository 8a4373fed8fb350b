"""One Spark session for each process that runs tests: starting one takes longer than most do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from latecomer.runtime.session import session
from tests.support.short_lived import CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


# The first call of a kernel compiles it, and machines are noisy: no test is a question of time.
settings.register_profile("latecomer", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("latecomer")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests that use the session, so that others can be run without them."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    running = session("latecomer-tests", master="local[2]", config=CONFIG)
    yield running
    running.stop()

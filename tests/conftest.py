"""One Spark session for each test process, because starting one takes longer than most tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

from tests.support import lakes, smoke
from tests.support.broker import broker as running_broker
from tests.support.short_lived import TOO_SLOW, session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


ATTEMPTS = 5

# The first call of a kernel compiles it, and machines are busy, so no test has a deadline.
settings.register_profile(
    "latecomer", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=50
)
settings.register_profile("quick", settings.get_profile("latecomer"), max_examples=20)
settings.register_profile("thorough", settings.get_profile("latecomer"), max_examples=500)
settings.load_profile("latecomer")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests that use the session, so that the others can be run alone.

    The longest tests come first. Two processes that get one test after the other then end at nearly
    the same time.
    """
    for item in items:
        # Otherwise the error only shows if two processes share the tests: xdist then runs none.
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"the name of a test has an address in it: {item.nodeid}")
        fixtures = {*getattr(item, "fixturenames", ())}
        if fixtures & {"spark", "lake"}:
            item.add_marker("spark")
        if fixtures & {"lake", "broker"}:
            item.add_marker("lakes")
            if not smoke.uses_lakes(item.path):
                raise pytest.UsageError(f"make lakes would not collect {item.nodeid}")
    for at in smoke.chosen([item.nodeid for item in items]):
        items[at].add_marker("smoke")
    items.sort(key=_shortness)


def _shortness(item: pytest.Item) -> int:
    """Return 0 for tests of a minute or more, 1 for other tests on Spark, 2 for the rest."""
    if item.get_closest_marker("jvm"):
        return 0
    if item.get_closest_marker("spark"):
        return int(item.path.stem not in {"test_docs", "test_examples", "test_conformance"})
    return 2


def pytest_runtest_protocol(item: pytest.Function, nextitem: pytest.Item | None) -> bool | None:
    """Repeat a test on Spark if a Python process of Spark was too slow to start.

    Spark starts such a process for each stateful stage of a query, and waits ten seconds for its
    connection. No setting changes that, and on a busy machine importing PySpark may take longer.
    """
    if not (item.get_closest_marker("spark") or item.get_closest_marker("jvm")):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for _ in range(ATTEMPTS):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not any(report.failed and TOO_SLOW in report.longreprtext for report in reports):
            break
        item._initrequest()
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    running = session("latecomer-tests")
    yield running
    running.stop()


@pytest.fixture
def lake(request: pytest.FixtureRequest) -> SparkSession:
    """Return the same session, in the environment with Kafka, Delta and Iceberg."""
    if reason := lakes.missing():
        pytest.skip(reason)
    return request.getfixturevalue("spark")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a Kafka broker."""
    if reason := lakes.missing():
        pytest.skip(reason)
    with running_broker(tmp_path_factory.mktemp("broker")) as address:
        yield address

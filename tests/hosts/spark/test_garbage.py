"""Modules are left out of garbage collection once, not in each task."""

import gc
import types
from collections.abc import Iterator

import pytest

from latecomer.hosts.spark import garbage
from latecomer.hosts.spark.parcels import _numbered, unpack
from latecomer.hosts.spark.processor import BucketProcessor


@pytest.fixture
def freezes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Count the calls, without freezing objects of the test process."""
    counted: list[int] = []
    monkeypatch.setattr(garbage, "_seen", 0)
    monkeypatch.setattr(gc, "freeze", lambda: counted.append(1))
    return counted


def test_modules_are_frozen_once_unless_something_was_imported(
    freezes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    garbage.spare_modules()
    garbage.spare_modules()
    assert len(freezes) == 1

    monkeypatch.setitem(garbage.sys.modules, "imported_lately", types.ModuleType("imported_lately"))
    garbage.spare_modules()
    assert len(freezes) == 2


@pytest.mark.parametrize(
    "task",
    [
        lambda: list(_numbered([])),
        lambda: list(unpack(iter(()))),
        lambda: BucketProcessor.close(object.__new__(BucketProcessor)),
    ],
    ids=["packing", "unpacking", "a stage"],
)
def test_each_kind_of_task_freezes_modules_at_its_end(freezes: list[int], task: object) -> None:
    task()

    assert len(freezes) == 1

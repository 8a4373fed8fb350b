from __future__ import annotations

import random

import pytest

from tests.chaos.disk import FULL, TORN, Crash, Disk


def disk(*fates: str | None) -> Disk:
    told = iter(fates)
    return Disk(lambda _verb, _what: next(told, None))


def test_a_torn_write_leaves_half_a_file() -> None:
    torn = disk(TORN)
    with pytest.raises(Crash):
        torn.write("a", b"1234")

    assert torn.read("a") == b"12"


def test_a_full_disk_is_an_error() -> None:
    full = disk(FULL)
    with pytest.raises(OSError, match="No space left"):
        full.write("a", b"1234")


def test_a_power_cut_loses_names_and_content_that_were_not_synced() -> None:
    seen = set()
    for seed in range(50):
        cut = disk()
        cut.write("d/part", b"1234", synced=False)
        cut.move("d/part", "d/whole", synced=False)
        cut.power_cut(random.Random(seed))
        seen.add((cut.files.get("d/part"), cut.files.get("d/whole")))

    assert (None, None) in seen
    assert (None, b"1234") in seen
    assert any(whole is not None and len(whole) < 4 for _, whole in seen)
    assert any(part is not None for part, _ in seen)


def test_what_was_synced_survives_a_power_cut() -> None:
    for seed in range(50):
        kept = disk()
        kept.write("d/part", b"1234", synced=False)
        kept.sync("d/part")
        kept.move("d/part", "d/whole", synced=False)
        kept.sync("d")
        kept.power_cut(random.Random(seed))
        assert kept.files == {"d/whole": b"1234"}


def test_a_flipped_bit_changes_one_byte() -> None:
    flipped = disk()
    flipped.write("a", b"1234")
    flipped.flip("a", random.Random(0))

    assert sum(one != other for one, other in zip(flipped.read("a"), b"1234", strict=True)) == 1

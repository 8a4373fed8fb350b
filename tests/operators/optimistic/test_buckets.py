from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from latecomer.errors import TombstoneError
from latecomer.hosts.local import MemoryChunks
from latecomer.operators.optimistic import buckets as module
from latecomer.operators.optimistic.buckets import GONE, KEPT, NEW, Buckets, Merged
from latecomer.operators.optimistic.items import MARKS
from latecomer.time import TimeColumn

if TYPE_CHECKING:
    from latecomer.batch import Batch, Mask
    from latecomer.operators.aggregates.slices import Slices

TIME = TimeColumn("time", "us")
ITEM = pa.schema([("time", pa.int64()), ("key", pa.string()), *MARKS])
HELD = pa.schema([*ITEM, ("beside", pa.string())])
NAMES = {KEPT: "kept", NEW: "new", GONE: "gone"}


def items(*rows: tuple[int, str], sign: int = 1) -> pa.Table:
    made = [(time, key, sign, ord(key[0]), 0, 0) for time, key in rows]
    return pa.Table.from_pylist([dict(zip(ITEM.names, r, strict=True)) for r in made], ITEM)


def buckets(chunks: MemoryChunks | None = None, saved: bytes | None = None) -> Buckets:
    return Buckets(TIME, ("key",), HELD, chunks or MemoryChunks(), saved)


def told(merged: Merged) -> dict[str, list[tuple[int, str]]]:
    """Return the times and the marks of items, by key."""
    found: dict[str, list[tuple[int, str]]] = {}
    bounds = merged.slices.bounds.tolist()
    rows = merged.items.to_pylist()
    for start, stop in itertools.pairwise(bounds):
        (key,) = {row["key"] for row in rows[start:stop]}
        assert key not in found
        found[key] = [(rows[i]["time"], NAMES[merged.status[i]]) for i in range(start, stop)]
    return found


def put(held: Buckets, changes: pa.Table) -> Merged:
    merged = held.merge(changes)
    held.keep(merged, merged.items)
    return merged


def test_items_are_inserted_among_the_held_items_of_their_key() -> None:
    held = buckets()
    assert told(put(held, items((1, "a"), (4, "a"), (2, "b")))) == {
        "a": [(1, "new"), (4, "new")],
        "b": [(2, "new")],
    }

    changes = pa.concat_tables([items((3, "a"), (5, "b")), items((2, "b"), sign=-1)])

    assert told(put(held, changes)) == {
        "a": [(1, "kept"), (3, "new"), (4, "kept")],
        "b": [(2, "gone"), (5, "new")],
    }
    assert held.held == 4


def test_nothing_changes_until_it_is_kept() -> None:
    held = buckets()

    held.merge(items((1, "a")))

    assert held.held == 0
    assert told(held.merge(items((2, "a")))) == {"a": [(2, "new")]}


def test_an_item_that_is_cancelled_at_once_is_not_held() -> None:
    held = buckets()

    changes = pa.concat_tables([items((1, "a")), items((1, "a"), sign=-1)])

    assert told(put(held, changes)) == {}
    assert held.held == 0


def test_a_tombstone_needs_its_item() -> None:
    held = buckets()
    put(held, items((1, "a")))

    with pytest.raises(TombstoneError, match=r"tombstone to delete: time=2, key=a"):
        held.merge(items((2, "a"), sign=-1))


def test_a_held_item_cannot_be_inserted_again() -> None:
    held = buckets()
    put(held, items((1, "a")))

    with pytest.raises(TombstoneError, match=r"came twice: time=1, key=a"):
        held.merge(items((1, "a")))


def test_columns_that_a_step_adds_are_kept_with_the_items() -> None:
    held = buckets()
    merged = held.merge(items((1, "a")))
    beside = merged.items.set_column(HELD.names.index("beside"), "beside", pa.array(["seen"]))
    held.keep(merged, beside.cast(HELD))

    found = held.merge(items((2, "a"))).items

    assert found["beside"].to_pylist() == ["seen", None]


def test_marks_distinguish_changed_and_present_items() -> None:
    held = buckets()
    put(held, items((1, "a"), (2, "a")))

    merged = held.merge(pa.concat_tables([items((3, "a")), items((1, "a"), sign=-1)]))

    assert merged.is_dirty.tolist() == [True, False, True]
    assert merged.is_present.tolist() == [False, True, True]


def last_final(rows: Batch, slices: Slices, is_final: Mask) -> tuple[Mask, Batch]:
    """Keep all items that are not final, and the last final one."""
    keep = ~is_final
    found = slices.last(is_final)
    keep[found[found >= 0]] = True
    return keep, rows.filter(pa.array(keep))


def test_items_that_no_later_item_needs_are_forgotten() -> None:
    held = buckets()
    put(held, items((1, "a"), (2, "a"), (5, "a")))

    held.advance(3, last_final)

    assert held.held == 2
    assert told(held.merge(items((9, "a")))) == {"a": [(2, "kept"), (5, "kept"), (9, "new")]}


def test_items_are_forgotten_in_all_slots_at_once_and_stay_in_their_own() -> None:
    chunks = MemoryChunks()
    held = buckets(chunks)
    names = [chr(97 + number) for number in range(26)]
    put(held, items(*((time, name) for name in names for time in (1, 2, 5))))

    held.advance(3, last_final)
    saved = held.save()

    assert held.held == 2 * len(names)
    again = buckets(chunks, saved).merge(items(*((9, name) for name in names)))
    assert told(again) == {name: [(2, "kept"), (5, "kept"), (9, "new")] for name in names}


def test_a_few_final_items_are_not_removed_yet() -> None:
    held = buckets()
    put(held, items(*((time, "a") for time in range(17))))

    held.advance(2, last_final)
    assert held.held == 17
    held.advance(3, last_final)
    assert held.held == 15


def test_a_watermark_never_falls() -> None:
    held = buckets()
    put(held, items((1, "a"), (2, "a")))
    held.advance(1, last_final)

    held.advance(-5, last_final)

    assert held.watermark == 1


def test_only_slots_that_have_changed_are_written_and_read() -> None:
    chunks = MemoryChunks()
    held = buckets(chunks)
    many = [(1, chr(97 + number)) for number in range(26)]
    put(held, items(*many))
    saved = held.save()
    assert 1 < len(chunks.batches) <= 16
    before = dict(chunks.batches)

    again = buckets(chunks, saved)
    assert again.held == 26
    put(again, items((2, "a")))
    again.save()

    changed = [number for number, rows in chunks.batches.items() if rows is not before[number]]
    assert len(changed) == 1
    assert np.sum([rows.num_rows for rows in chunks.batches.values()]) == 27


def test_a_full_slot_is_split_and_few_items_are_written_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "FULL", 4)
    monkeypatch.setattr(module, "FEW", 0)
    chunks = MemoryChunks()
    held = buckets(chunks)
    keys = [chr(200 + number) for number in range(400)]
    for start in range(0, 400, 40):
        put(held, items(*((1, key) for key in keys[start : start + 40])))
        held = buckets(chunks, held.save())
    before = dict(chunks.batches)
    monkeypatch.setattr(module, "FULL", 1_000)
    assert len(before) > 100
    assert sum(rows.num_rows for rows in before.values()) == 400

    assert told(put(held, items((2, keys[7])))) == {
        **{key: [(1, "kept")] for key in found_with(keys[7], before)},
        keys[7]: [(1, "kept"), (2, "new")],
    }
    held.save()

    assert [number for number in before if chunks.batches[number] is not before[number]] == [
        next(n for n, rows in before.items() if keys[7] in rows.column("key").to_pylist())
    ]
    put(held, items(*((1, key) for key in keys), sign=-1))
    put(held, items((2, keys[7]), sign=-1))
    held.save()
    assert chunks.batches == {}
    assert told(put(held, items((1, "a")))) == {"a": [(1, "new")]}


def test_slots_are_not_split_where_most_items_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FULL", 1)
    chunks = MemoryChunks()
    held = buckets(chunks)
    for time in range(5):
        put(held, items(*((time, chr(200 + number)) for number in range(400))))
        held.save()

    assert len(chunks.batches) == 16


def found_with(key: str, chunks: dict[int, Batch]) -> list[str]:
    """Return the keys in the same chunk as a key."""
    all_keys = [rows.column("key").to_pylist() for rows in chunks.values()]
    return [each for each in next(keys for keys in all_keys if key in keys) if each != key]


def test_a_slot_that_is_empty_is_dropped() -> None:
    chunks = MemoryChunks()
    held = buckets(chunks)
    put(held, items((1, "a")))
    held.save()
    put(held, items((1, "a"), sign=-1))

    saved = held.save()

    assert not chunks.batches
    assert buckets(chunks, saved).held == 0

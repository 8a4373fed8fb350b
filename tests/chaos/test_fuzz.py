"""Damaged bytes always raise an error that says so. They never give other rows or end a process."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from latecomer.batch import decode, encode
from latecomer.errors import StateFormatError
from latecomer.generate.replay.arrivals import Position
from latecomer.hosts.spark.bucket_labels import label
from latecomer.hosts.spark.parcels import packer
from latecomer.hosts.spark.processor import BucketProcessor
from latecomer.hosts.spark.spark_clock import SparkClock
from latecomer.hosts.tally import TALLY
from tests.chaos import rows as drawing
from tests.chaos.catalogue import Entry, catalogue
from tests.support.memory_states import Handle

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

PLANS = (
    "sort, divert",
    "windows, divert",
    "clocks of keys, idle",
    "recalls",
    "pattern",
    "lifetimes",
    "sources, promises",
    "optimistic stateful, changelog",
)
SHOWN = 1_700_000_000_000


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Draw a kind of damage: flip a bit, cut, repeat, overwrite, or swap two pieces."""
    kind, at, other = (
        draw(st.sampled_from(["flip", "cut", "more", "over", "swap"])),
        *(draw(st.floats(0, 1, exclude_max=True)) for _ in range(2)),
    )
    bit, piece = draw(st.integers(0, 7)), draw(st.binary(max_size=9))

    def damage(content: bytes) -> bytes:
        one, two = sorted((int(at * len(content)), int(other * len(content))))
        changed = bytearray(content)
        if kind == "flip":
            changed[one] ^= 1 << bit
        elif kind == "cut":
            del changed[one : two + 1]
        elif kind == "more":
            changed[one:one] = changed[one : two + 1]
        elif kind == "over":
            changed[one : one + len(piece)] = piece
        else:
            changed = changed[two:] + changed[:two]
        return bytes(changed)

    return damage


@cache
def entry(name: str) -> Entry:
    return next(each for each in catalogue() if each.name == name)


@cache
def batches(name: str) -> list[pa.Table]:
    return drawing.draw(random.Random(5), entry(name), 4)[0]


@cache
def _packed(name: str, number: int) -> list[dict[str, Any]]:
    pack = packer(entry(name).plan, 1, 1)
    made = pack(iter(batches(name)[number].to_batches()))
    return [{**row, "branch": 0} for batch in made for row in batch.to_pylist()]


def parcels(name: str, number: int) -> list[dict[str, Any]]:
    return [dict(row) for row in _packed(name, number)]


def run(name: str, number: int, handle: Handle, rows: list[dict[str, Any]]) -> list[Any]:
    processor = BucketProcessor(entry(name).plan, 0, 1, SparkClock())
    processor.init(handle)  # type: ignore[arg-type]
    shown = SimpleNamespace(getCurrentWatermarkInMs=lambda: SHOWN + 3_000 * number)
    found = processor.handleInputRows((label(0),), iter([pd.DataFrame(rows)]), shown)
    return [part for frame in found for part in frame.to_dict("records")]


@cache
def _held(name: str) -> Handle:
    handle = Handle()
    for number in range(3):
        run(name, number, handle, parcels(name, number))
    return handle


def held(name: str) -> Handle:
    """Return the state of a bucket after some micro-batches."""
    return deepcopy(_held(name))


@cache
def sound(name: str) -> list[Any]:
    """Return the output of the next micro-batch."""
    return run(name, 3, held(name), parcels(name, 3))


@pytest.mark.parametrize("name", PLANS)
@settings(max_examples=40)
@given(damage=damages(), which=st.integers(0, 99))
def test_damaged_state_is_refused(name: str, damage: Callable[[bytes], bytes], which: int) -> None:
    handle = held(name)
    meta = handle.values["meta"]
    *counts, stage = meta.get()
    chunks = sorted(handle.chunks)
    place = which % (len(chunks) + 1)
    content = stage if place == len(chunks) else handle.chunks[chunks[place]][0]
    sources = handle.values.get("sources")
    if sources is not None and which % 2:
        place, content = -1, sources.get()[0].encode()
    damaged = damage(content)
    if place < 0 and sources is not None:
        sources.update((damaged.decode("utf-8", "replace"),))
    elif place == len(chunks):
        meta.update((*counts, damaged))
    else:
        handle.chunks[chunks[place]] = (damaged,)

    try:
        found = run(name, 3, handle, parcels(name, 3))
    except StateFormatError:
        assert damaged != content
    else:
        # Chunks that are not due are not read.
        assert found == sound(name)


@pytest.mark.parametrize("name", PLANS)
@settings(max_examples=40)
@given(damage=damages(), which=st.integers(0, 99))
@example(damage=lambda _: b"", which=0)
def test_damaged_parcels_are_refused(
    name: str, damage: Callable[[bytes], bytes], which: int
) -> None:
    rows = parcels(name, 0)
    parcel = rows[which % len(rows)]
    before = parcel["blob"]
    parcel["blob"] = damage(before)

    try:
        for row in run(name, 0, Handle(), rows):
            # Other outputs hold only a number of rows, or the tally, which is JSON.
            if row["output"] in ("ready", "late") or (row["blob"] and row["output"] != TALLY):
                decode(row["blob"])
    except StateFormatError:
        assert parcel["blob"] != before
    else:
        assert parcel["blob"] == before


@given(damage=damages())
def test_damaged_rows_are_refused(damage: Callable[[bytes], bytes]) -> None:
    for compression in (None, "lz4"):
        blob = encode(batches("sort, divert")[0], compression)  # type: ignore[arg-type]
        damaged = damage(blob)
        if damaged == blob:
            assert decode(damaged).equals(batches("sort, divert")[0])
        else:
            with pytest.raises(StateFormatError, match="Hint"):
                decode(damaged)


@given(content=st.binary(max_size=80))
@example(content=b"")
def test_bytes_that_were_never_written_are_refused(content: bytes) -> None:
    with pytest.raises(StateFormatError):
        decode(content)


POSITION = Position(
    120, 17, 99, {"a.parquet": 100, "b.parquet": 20}, {"a.parquet": "5f", "b.parquet": "0c"}
)


@given(damage=damages())
def test_damaged_offsets_of_a_replay_are_refused(damage: Callable[[bytes], bytes]) -> None:
    line = json.dumps(POSITION.to_offset()).encode()
    try:
        offset = json.loads(damage(line))
    except ValueError:
        # Spark reads the line first, and refuses invalid JSON.
        return

    if offset == POSITION.to_offset():
        assert Position.from_offset(offset) == POSITION
    else:
        with pytest.raises(StateFormatError, match="Hint"):
            Position.from_offset(offset)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    offset=json_values
    | st.fixed_dictionaries(dict.fromkeys(("rows", "files", "marks", "digest"), json_values))
)
def test_offsets_that_no_replay_wrote_are_refused(offset: Any) -> None:  # noqa: ANN401
    with pytest.raises(StateFormatError):
        Position.from_offset(offset)

"""A hash that is equal for equal keys, and never changes."""

from datetime import date, time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latecomer.kernels import hashing
from latecomer.kernels.hashing import hash_columns


def hashes(*columns: list, kind: pa.DataType | None = None) -> list[int]:
    arrays = [pa.chunked_array([pa.array(column, kind)]) for column in columns]
    return hash_columns(arrays, len(columns[0]) if columns else 3).tolist()


def test_the_hash_is_the_same_in_every_version() -> None:
    """This hash decides in which bucket rows are held; a change would separate keys from state."""
    assert hashes(["", "a", "ab", None]) == HASHES_OF_TEXT
    assert hashes([0, 1, -1, None]) == HASHES_OF_NUMBERS


HASHES_OF_TEXT = [0, 12274380582136175531, 11035818949225784765, 16294208416658607535]
HASHES_OF_NUMBERS = [0, 8841707400507832957, 5476333178966447588, 16294208416658607535]


@given(st.lists(st.one_of(st.none(), st.text(max_size=5)), max_size=30))
def test_equal_text_has_equal_hashes_and_different_text_has_not(values: list) -> None:
    if values:
        found = hashes(values, kind=pa.string())
        assert len(set(found)) == len(set(values))
        assert dict(zip(values, found, strict=True)) == {
            value: hashes([value], kind=pa.string())[0] for value in values
        }


@pytest.mark.parametrize(
    "values",
    [
        [True, False, None],
        [1.5, -2.0, None],
        [Decimal("1.50"), Decimal("2.50"), None],
        [date(2020, 1, 1), date(1960, 1, 1), None],
        [b"x", b"\xff\x00", None],
        [time(1), time(2), None],
    ],
)
def test_all_plain_types_can_be_keys(values: list) -> None:
    assert len(set(hashes(values))) == 3


def test_zero_equals_minus_zero_and_nan_equals_nan() -> None:
    assert len(set(hashes([0.0, -0.0]))) == 1
    assert len(set(hashes([float("nan"), -float("nan")]))) == 1


def test_the_place_of_a_column_matters() -> None:
    assert hashes([1], [2]) != hashes([2], [1])


def slow_hash(text: bytes) -> int:
    """Hash by definition: the digits of a number, least first, and the number of digits."""
    digits = sum((byte + 1) * BASE ** (place + 1) for place, byte in enumerate(text))
    number = np.array([len(text) + digits & 2**64 - 1], np.uint64)
    return int(hashing.mixed(hashing.mixed(number))[0])


BASE = 0x100000001B3


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 18])
@given(st.lists(st.binary(max_size=12), max_size=12))
def test_text_is_hashed_in_slices_that_leave_no_trace(size: int, values: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashing, "_SLICE", size)
        assert hashes(values, kind=pa.binary()) == [slow_hash(value) for value in values]


def test_a_column_in_pieces_hashes_like_one() -> None:
    pieces = pa.chunked_array([["x"], [], ["yy", None]], pa.string())
    assert hash_columns([pieces], 3).tolist() == hashes(["x", "yy", None])
    assert hash_columns([pa.chunked_array([], pa.string())], 0).tolist() == []


def test_no_columns_put_all_rows_together() -> None:
    assert len(set(hashes())) == 1


def test_a_slice_hashes_like_a_copy() -> None:
    column = pa.array(["x", "yy", None, "zzz", ""])
    sliced = hash_columns([pa.chunked_array([column.slice(1, 3)])], 3)
    assert sliced.tolist() == hashes(["yy", None, "zzz"])


def test_buckets_get_like_numbers_of_keys() -> None:
    counts = np.bincount(np.array(hashes(list(range(10_000))), np.uint64) % np.uint64(8))
    assert counts.min() > 1_100
    assert counts.max() < 1_400

import platform
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from latecomer import batch as module
from latecomer.batch import (
    cast,
    combined,
    concat,
    decode,
    encode,
    gather,
    is_true,
    pieces,
    retyped,
    row_text,
    typed_names,
    widened,
    with_nulls,
)
from latecomer.errors import StateFormatError
from tests.support.carried import KINDS, as_spark_writes

SCHEMA = pa.schema([("time", pa.int64()), ("name", pa.string())])
ROWS = pa.table({"time": [3, 1, None], "name": ["c", None, "a"]}, SCHEMA)


def test_batches_are_put_one_after_the_other_and_empty_ones_left_out() -> None:
    found = concat([ROWS, SCHEMA.empty_table(), ROWS.slice(2)], SCHEMA)

    assert found.to_pydict() == {"time": [3, 1, None, None], "name": ["c", None, "a", "a"]}
    assert found.column("time").num_chunks == 2


@pytest.mark.parametrize("batches", [[], [SCHEMA.empty_table()]])
def test_without_rows_a_table_has_the_given_schema(batches: list[pa.Table]) -> None:
    found = concat(batches, SCHEMA)

    assert found.num_rows == 0
    assert found.schema == SCHEMA


def test_rows_are_gathered_in_the_order_of_their_positions() -> None:
    found = gather(ROWS, np.array([2, 0, 2], np.int32))

    assert found.to_pydict() == {"time": [None, 3, None], "name": ["a", "c", "a"]}
    assert gather(ROWS, np.array([], np.int64)).schema == SCHEMA


@pytest.mark.parametrize("compression", [None, "lz4"])
def test_what_is_written_is_read_again_with_its_schema(compression: str | None) -> None:
    written = encode(ROWS.slice(1), compression)  # type: ignore[arg-type]

    assert decode(written).equals(ROWS.slice(1))
    assert decode(encode(SCHEMA.empty_table())).schema == SCHEMA


@pytest.mark.parametrize("compression", [None, "lz4"])
def test_rows_in_which_a_bit_has_flipped_are_refused(compression: str | None) -> None:
    written = encode(ROWS, compression)  # type: ignore[arg-type]

    for at in range(8 * len(written)):
        flipped = bytearray(written)
        flipped[at // 8] ^= 1 << at % 8
        with pytest.raises(StateFormatError, match=r"rows that Latecomer wrote .*\nHint"):
            decode(bytes(flipped))
    with pytest.raises(StateFormatError):
        decode(b"")


def test_compression_makes_equal_values_small() -> None:
    same = pa.table({"time": [7] * 10_000})

    assert len(encode(same)) > 80_000
    assert len(encode(same, "lz4")) < 2_000


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_null_structs_are_cast_though_their_fields_cannot_be_null(kind: pa.DataType) -> None:
    values = [None, *KINDS[kind], None]
    lists = pa.LargeListArray.from_arrays(
        pa.array([0, len(values)], pa.int64()), as_spark_writes(values, kind)
    )

    found = cast(lists, pa.list_(kind))

    assert found.type == pa.list_(kind)
    assert found.to_pylist() == [values]


def test_a_batch_is_cast_column_by_column() -> None:
    kind = pa.struct([pa.field("at", pa.timestamp("us", "UTC"), nullable=False)])
    local = pa.struct([pa.field("at", pa.timestamp("us", "Europe/Berlin"), nullable=False)])
    batch = pa.table({"time": [1, 2], "event": as_spark_writes([None, {"at": 7}], local)})
    schema = pa.schema({"time": pa.int64(), "event": kind})

    found = retyped(batch, schema)

    assert found.schema == schema
    assert found.column("event").cast(pa.struct({"at": pa.int64()})).to_pylist() == [
        None,
        {"at": 7},
    ]


def test_more_than_an_array_can_hold_is_gathered_in_parts() -> None:
    rows = pa.table({"number": range(50), "text": [str(number) for number in range(50)]})
    positions = np.random.default_rng(3).integers(0, 50, 200)
    expected = rows.take(pa.array(positions))

    def taken(batch: pa.Table, wanted: np.ndarray) -> pa.Table:
        if batch.num_rows > 9 or len(wanted) > 20:
            raise pa.ArrowInvalid("offset overflow while concatenating arrays")
        return batch.take(pa.array(wanted))

    with patch.object(module, "_taken", taken):
        assert gather(rows, positions).equals(expected)


def test_few_rows_of_more_than_an_array_can_hold_are_gathered() -> None:
    # 2.5 GiB in 40 chunks, all of them one array in memory.
    chunk = pa.array([bytes(1 << 20)] * 63 + [b"last"])
    rows = pa.table({"bytes": pa.chunked_array([chunk] * 40)})
    with pytest.raises(pa.ArrowInvalid, match="overflow"):
        rows.take(pa.array([0]))

    assert gather(rows, np.array([63])).to_pylist() == [{"bytes": b"last"}]
    assert gather(rows, np.array([127, 63])).num_rows == 2
    assert gather(rows, np.array([], np.int64)).num_rows == 0


def test_a_row_that_cannot_be_gathered_is_an_error() -> None:
    overflow = pa.ArrowInvalid("offset overflow")
    with patch.object(module, "_taken", side_effect=overflow), pytest.raises(pa.ArrowInvalid):
        gather(ROWS, np.array([0, 1]))


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="how freed memory is kept depends on the C library"
)
@pytest.mark.parametrize(
    ("calls", "arrays"),
    [
        ("keep_freed_memory()", 12),
        ("keep_more_freed_memory()", 60),
        ("keep_more_freed_memory(); keep_freed_memory()", 60),
    ],
)
def test_memory_of_freed_arrays_is_used_again(calls: str, arrays: int) -> None:
    """Count page faults in the last of five rounds, each of which makes arrays of 8 MiB."""
    program = f"""
import resource
import numpy as np
from latecomer.batch import keep_freed_memory, keep_more_freed_memory
{calls}
def cleared():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    before = cleared()
    arrays = [np.ones(1 << 20) for _ in range({arrays})]
    del arrays
print(cleared() - before)
"""
    found = int(subprocess.check_output([sys.executable, "-c", program]))

    # Each array has 2,048 pages, or fewer if the system uses larger pages.
    assert found < 100


def test_columns_are_put_into_one_array_each() -> None:
    found = combined(pa.concat_tables([ROWS, ROWS]))

    assert found.equals(pa.concat_tables([ROWS, ROWS]))
    assert {column.num_chunks for column in found.columns} == {1}


def test_pieces_are_small_though_a_few_rows_are_large() -> None:
    sizes = [1] * 500 + [3_000] * 5 + [1] * 500 + [200_000, 1]
    rows = pa.table({"number": range(len(sizes)), "text": ["x" * size for size in sizes]})

    found = [*pieces(rows, 300, 10_000)]

    assert pa.concat_tables(found).equals(rows)
    assert max(piece.num_rows for piece in found) <= 300
    assert max(piece.nbytes for piece in found if piece.num_rows > 1) <= 10_000
    assert len(found) < 100


def test_no_rows_are_no_pieces_and_few_are_one() -> None:
    assert [*pieces(SCHEMA.empty_table(), 10, 10)] == []
    assert [*pieces(ROWS, 3, 1_000)] == [ROWS]


def test_rows_get_the_columns_that_they_do_not_have() -> None:
    batch = pa.table({"a": [1, 2], "gone": [3, 4]})
    schema = pa.schema({"b": pa.string(), "a": pa.int64(), "c": pa.int64()})

    found = widened(batch, schema, {"c": "a"})

    assert found.schema == schema
    assert found.to_pydict() == {"b": [None, None], "a": [1, 2], "c": [1, 2]}
    assert widened(found, schema) is found


def test_columns_that_are_never_null_go_with_those_that_may_be() -> None:
    strict = pa.table([[1]], pa.schema([pa.field("a", pa.int64(), nullable=False)]))

    assert pa.concat_tables([with_nulls(strict), pa.table({"a": [2]})]).num_rows == 2


def test_a_row_in_an_error_is_written_without_reprs() -> None:
    row = {
        "time": datetime(2024, 5, 1, 12, tzinfo=UTC),
        "key": "a",
        "price": Decimal("2.50"),
        "more": None,
    }

    assert row_text(row) == "time=2024-05-01 12:00:00+00:00, key=a, price=2.50, more=None"


def test_columns_are_named_with_their_types() -> None:
    assert (
        typed_names(pa.schema({"a": pa.int64(), "b c": pa.string()})) == '"a" int64, "b c" string'
    )


def test_a_null_counts_as_false() -> None:
    assert is_true(pa.chunked_array([[True, None], [False]])).tolist() == [True, False, False]

import numpy as np
import pyarrow as pa
import pytest

from latecomer.batch import cast, concat, decode, encode, gather, retyped
from latecomer.errors import StateFormatError
from tests.support.carried import KINDS, as_spark_writes

SCHEMA = pa.schema([("time", pa.int64()), ("name", pa.string())])
ROWS = pa.table({"time": [3, 1, None], "name": ["c", None, "a"]}, SCHEMA)


def test_batches_are_put_one_after_the_other_and_empty_ones_left_out() -> None:
    found = concat([ROWS, SCHEMA.empty_table(), ROWS.slice(2)], SCHEMA)

    assert found.to_pydict() == {"time": [3, 1, None, None], "name": ["c", None, "a", "a"]}
    assert found.column("time").num_chunks == 2


@pytest.mark.parametrize("batches", [[], [SCHEMA.empty_table()]])
def test_no_rows_have_the_schema_that_was_asked_for(batches: list[pa.Table]) -> None:
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

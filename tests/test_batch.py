import numpy as np
import pyarrow as pa
import pytest

from latecomer.batch import concat, decode, encode, gather

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


def test_compression_makes_equal_values_small() -> None:
    same = pa.table({"time": [7] * 10_000})

    assert len(encode(same)) > 80_000
    assert len(encode(same, "lz4")) < 2_000

"""Records appear as a whole, can be read however they were written, and fail if damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from latecomer.errors import StateFormatError
from latecomer.hosts.spark.durable.ledger import Ledger, local_path, qualified

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def by_spark(spark: SparkSession, directory: str) -> Ledger:
    """Write through Spark, as on a file system that only Spark can reach."""
    ledger = Ledger(spark, directory)
    ledger.local = None
    return ledger


def test_a_path_without_a_scheme_is_one_of_sparks_file_system(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert qualified(spark, f"{tmp_path}/a b") == f"file:{tmp_path}/a b"
    assert local_path(spark, f"{tmp_path}/a b") == tmp_path / "a b"
    assert local_path(spark, f"file://{tmp_path}") == tmp_path


def test_a_known_place_is_not_looked_up_again(tmp_path: Path) -> None:
    places = {f"{tmp_path}/a": tmp_path / "a"}

    ledger = Ledger(None, f"{tmp_path}/a", places)  # type: ignore[arg-type]
    ledger.add("one", {"number": 1})

    assert ledger.read() == [{"number": 1}]


def test_records_can_be_read_however_they_were_written(spark: SparkSession, tmp_path: Path) -> None:
    directory = f"{tmp_path}/_records"
    assert Ledger(spark, directory).read() == by_spark(spark, directory).read() == []

    Ledger(spark, directory).add("one", {"number": 1})
    by_spark(spark, directory).add("two", {"number": 2, "text": "a\nb"})

    for ledger in (Ledger(spark, directory), by_spark(spark, directory)):
        found = sorted(ledger.read(), key=lambda record: record["number"])
        assert found == [{"number": 1}, {"number": 2, "text": "a\nb"}]


@pytest.mark.parametrize(
    "content", [b'{"number": 1', b"\xff\xfe\x00", b"7\n", b'["a"]\n', b'{"number": 1}\n']
)
def test_a_file_that_is_no_record_is_an_error(
    spark: SparkSession, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "torn").write_bytes(content)

    with pytest.raises(StateFormatError, match="a record that cannot be read"):
        Ledger(spark, str(tmp_path)).read()


def test_a_record_in_which_a_bit_has_flipped_is_an_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    ledger = Ledger(spark, str(tmp_path))
    ledger.add("one", {"batch": 1, "attempt": "r1-5f0c"})
    written = (tmp_path / "one").read_bytes()

    for at in range(8 * (len(written) - 1)):
        flipped = bytearray(written)
        flipped[at // 8] ^= 1 << at % 8
        (tmp_path / "one").write_bytes(flipped)
        with pytest.raises(StateFormatError, match="a record that cannot be read"):
            ledger.read()


def test_an_incomplete_record_of_a_crash_is_no_record(spark: SparkSession, tmp_path: Path) -> None:
    Ledger(spark, str(tmp_path)).add("kept", {"number": 1})
    (tmp_path / ".kept.3f").write_bytes(b'{"numb')

    assert Ledger(spark, str(tmp_path)).read() == [{"number": 1}]

"""The source that `benchmarks.replay` compares with returns each row once."""

from pathlib import Path

import pyarrow as pa
import pytest

pytest.importorskip("pyspark.sql.streaming.datasource", reason="Spark 4.1 has no limits of sources")

from benchmarks.replay import ARROW_ROWS, TASK_ROWS, ReadyReader


@pytest.mark.parametrize("step", [100, ARROW_ROWS, ARROW_ROWS + 7, TASK_ROWS + 1])
def test_each_row_comes_once_whatever_the_size_of_a_micro_batch(tmp_path: Path, step: int) -> None:
    rows = 2 * step + TASK_ROWS // 2
    path = tmp_path / "rows.arrow"
    table = pa.table({"row": range(rows)})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, ARROW_ROWS)
    reader = ReadyReader({"path": str(path), "rowsPerBatch": str(step), "rows": str(rows)})
    seen = []
    start = reader.initialOffset()
    while start["rows"] < rows and len(seen) < 3 * step:
        end = reader.latestOffset(start, reader.getDefaultReadLimit())
        batches = [b for part in reader.partitions(start, end) for b in reader.read(part)]
        assert sum(batch.num_rows for batch in batches) == end["rows"] - start["rows"]
        seen += [row for batch in batches for row in batch["row"].to_pylist()]
        start = end

    assert seen == list(range(len(seen)))

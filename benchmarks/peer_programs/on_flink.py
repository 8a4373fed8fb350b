"""Flink: SQL in streaming mode: a window TVF and an interval join; two tasks, a file each."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

ROWS = """
CREATE TABLE {name} (
    time_ms BIGINT, k INT, v DOUBLE,
    ts AS TO_TIMESTAMP_LTZ(time_ms, 3),
    WATERMARK FOR ts AS ts - INTERVAL '60' SECOND
) WITH ('connector' = 'filesystem', 'path' = 'file://{path}/parts', 'format' = 'csv')
"""
RESULTS = """
CREATE TABLE results (a BIGINT, b BIGINT, c BIGINT)
WITH ('connector' = 'filesystem', 'path' = 'file://{path}/results', 'format' = 'csv')
"""
COUNT = """
INSERT INTO results
SELECT MIN(time_ms) - MOD(MIN(time_ms), 10000), CAST(k AS BIGINT), COUNT(*)
FROM TABLE(TUMBLE(TABLE arrived, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, k
"""
JOIN = """
INSERT INTO results
SELECT a.time_ms, b.time_ms, CAST(a.k AS BIGINT) FROM a, b
WHERE a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '5' SECOND AND b.ts + INTERVAL '5' SECOND
"""


def main() -> None:
    from pyflink.table import EnvironmentSettings, TableEnvironment

    question, files, out = sys.argv[1], Path(sys.argv[3]), Path(sys.argv[4])
    flink = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = {
        "parallelism.default": "2",
        "execution.checkpointing.interval": "10 s",
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.allow-latency": "1 s",
        "table.exec.mini-batch.size": "5000",
        # In memory, which is the default, the state of a task is limited to 5 MiB.
        "execution.checkpointing.storage": "filesystem",
        # A job that fails ends; by default it begins again, for ever.
        "restart-strategy.type": "none",
    }
    for name, value in settings.items():
        flink.get_config().set(name, value)
    flink.get_config().set("execution.checkpointing.dir", f"file://{out}/checkpoints")
    flink.execute_sql(RESULTS.format(path=out))
    if question == "count":
        flink.execute_sql(ROWS.format(name="arrived", path=files))
        flink.execute_sql(COUNT).wait()
    else:
        for name in ("a", "b"):
            flink.execute_sql(ROWS.format(name=name, path=files / name))
        flink.execute_sql(JOIN).wait()
    told = ", ".join(f"{name} {value}" for name, value in settings.items())
    print(json.dumps({"version": version("apache-flink"), "settings": told}))


if __name__ == "__main__":
    main()

"""Bytewax: `count_window` in two processes, as it recommends for the GIL; one of them reads.

It has joins of rows in the same window, none of rows that are close in time: only the count.
Its watermark is kept for each key, and goes on by the wall clock. Two readers would get ahead of
each other, and rows of the slower one would be late.
"""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any


def flow(files: str, out: str) -> Any:
    import bytewax.operators as op
    from bytewax.connectors.files import DirSink, DirSource
    from bytewax.dataflow import Dataflow
    from bytewax.operators.windowing import EventClock, TumblingWindower, count_window

    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    size = timedelta(seconds=10)

    def parsed(line: str) -> tuple[str, datetime]:
        time_ms, key, _ = line.split(",")
        return key, epoch + timedelta(milliseconds=int(time_ms))

    def told(counted: tuple[str, tuple[int, int]]) -> tuple[str, str]:
        key, (window, count) = counted
        return key, f"{window * 10_000},{key},{count}"

    made = Dataflow("count")
    lines = op.input("read", made, DirSource(Path(files), "*.csv", batch_size=1_000))
    rows = op.map("parse", lines, parsed)
    clock: Any = EventClock(lambda row: row[1], wait_for_system_duration=timedelta(seconds=60))
    windower = TumblingWindower(length=size, align_to=epoch)
    counts = count_window("count", rows, clock, windower, lambda row: row[0])
    told_ = op.map("tell", counts.down, told)
    op.output("write", told_, DirSink(Path(out), 2))
    return made


def main() -> None:
    from importlib.metadata import version

    files, out = Path(sys.argv[3]), Path(sys.argv[4])
    (out / "results").mkdir(parents=True)
    made = f"{Path(__file__).stem}:flow('{files / 'whole'}', '{out / 'results'}')"
    command = [sys.executable, "-m", "bytewax.testing", made, "-p", "2"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    subprocess.run(command, check=True, env=environment)
    print(
        json.dumps({"version": version("bytewax"), "settings": "two processes, of which one reads"})
    )


if __name__ == "__main__":
    main()

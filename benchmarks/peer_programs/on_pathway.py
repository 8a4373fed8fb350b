"""Pathway: `windowby` with `exactly_once_behavior`, `interval_join` with a cutoff, as a stream.

A stream of files never ends, so the program does, once it has as many results as there are.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    # As `pathway spawn --threads 2` does.
    os.environ["PATHWAY_THREADS"] = "2"
    import pathway as pw

    question, files, out = sys.argv[1], Path(sys.argv[3]), Path(sys.argv[4])
    wanted, until = int(sys.argv[5]), int(sys.argv[6])
    (out / "results").mkdir(parents=True)
    found = (out / "results" / "all.csv").open("w")
    seen = 0

    class Row(pw.Schema):
        time_ms: int
        key: int
        value: float

    def read(folder: Path) -> Any:
        return pw.io.csv.read(str(folder / "headed"), schema=Row, mode="streaming")

    def count() -> Any:
        rows = read(files)
        window = pw.temporal.tumbling(duration=10_000)
        behavior = pw.temporal.exactly_once_behavior(shift=60_000)
        grouped = rows.windowby(rows.time_ms, window=window, behavior=behavior, instance=rows.key)
        return grouped.reduce(
            pw.this["_pw_window_start"], pw.this["_pw_instance"], n=pw.reducers.count()
        )

    def join() -> Any:
        a, b = read(files / "a"), read(files / "b")
        near = pw.temporal.interval(-5_000, 5_000)
        behavior = pw.temporal.common_behavior(cutoff=60_000)
        joined = a.interval_join(b, a.time_ms, b.time_ms, near, a.key == b.key, behavior=behavior)
        return joined.select(a_ms=a.time_ms, b_ms=b.time_ms, key=a.key)

    def keep(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:  # noqa: ARG001, FBT001 - called so
        nonlocal seen
        values = list(row.values())
        if not is_addition:
            message = f"a result was taken back: {values}"
            raise RuntimeError(message)
        found.write(",".join(map(str, values)) + "\n")
        if question == "count":
            seen += values[2] if values[0] + 10_000 <= until else 0
        else:
            seen += max(values[:2]) <= until
        if seen >= wanted:
            found.close()
            settings = {"version": pw.__version__, "settings": "two threads, files as a stream"}
            print(json.dumps(settings), flush=True)
            os._exit(0)

    pw.io.subscribe(count() if question == "count" else join(), on_change=keep)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


if __name__ == "__main__":
    main()

"""The generator: reproducible disorder, of the required amount, and its speed."""

from collections.abc import Iterator

from benchmarks.book.parts import Part
from benchmarks.book.results import Results
from benchmarks.book.rows import Row


def generator(results: Results) -> Iterator[Part]:
    rows = []
    for line in results.lines("generator", question="same"):
        name = f"rows that differ: {line['compared']}"
        rows.append(Row(name, line["rows_that_differ"], 0.0, better="less", line=line))
    for line in results.lines("generator", question="fraction"):
        name = f"share out of order, {line['delay']}, asked for {line['asked']}"
        rows.append(Row(name, line["found"], line["asked"], better="same", line=line))
    words = (
        "The poster promises reproducible streams with a configured fraction of rows out of "
        "order; it has no numbers. Ours are compared with the fraction that was requested."
    )
    yield Part(
        "Reproducible, and as disordered as asked", "generator", words, tuple(rows), "asked for"
    )
    scale = results.lines("generator", question="scale")
    rows = [
        Row(
            f"{line['rows']:,} rows, {line['engine']}",
            line["rows_per_second"],
            unit="rows/s",
            line=line,
        )
        for line in scale
    ]
    yield Part("Scale", "generator", "Rows per second; the poster gives none.", tuple(rows))

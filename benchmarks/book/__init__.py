"""The benchmark book: run every benchmark, and write `docs/benchmarks.md` from their results.

    registry    all benchmarks, with their arguments and the experiments that they repeat
    runner      runs each in a process of its own, and keeps its lines
    stamp       adds machine, commit and arguments to the lines
    results     the lines that were kept
    papers      the results that the papers report
    rows        comparisons: our value, the other value, and whether that is a loss
    plots       figures as separate files, in light and dark
    sections/   the parts of the page, one paper or one question each
    claims      the numbers in sentences of pages, and the lines that prove them
    page        the whole page

    python -m benchmarks.book [NAME…] [--quick] [--json] [--list] [--write]

A benchmark does not depend on this package: it prints JSON lines with `--json`.
"""

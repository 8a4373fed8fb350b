"""The benchmark book: run every benchmark, and write `docs/benchmarks.md` from what they print.

    registry    which benchmarks there are, how they are called, and what they repeat
    runner      each in a process of its own; lines are stamped and kept
    stamp       machine, commit and arguments, added to whatever a benchmark prints
    results     lines that were kept, and where they are
    papers      what the papers say of themselves, and where
    rows        something of ours beside something of theirs, and what is lost
    plots       figures that can be looked at on their own, in light and dark
    sections/   one paper or one question each, from results to a page
    claims      what the README says, and the line that proves it
    page        all of it, in order

    python -m benchmarks.book [NAME…] [--quick] [--json] [--list] [--write]

A benchmark needs to know nothing of this: it prints JSON lines with `--json`.
"""

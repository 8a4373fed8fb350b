"""All benchmarks, with their arguments and the experiments that they repeat.

A benchmark may be called several times with different arguments; its lines are kept in one file.
The minutes here are those expected of a full run on two cores; `results.minutes` has the measured
ones. All benchmarks together must take at most two hours, and ten minutes with `--quick`. A quick
run shows that each benchmark works, and nothing about speed.
"""

from dataclasses import dataclass

Arguments = tuple[str, ...]

MOST_MINUTES = 120

IMPATIENCE = "the Impatience paper"
JOINS = "the paper on quality-driven joins"
OPTIMISTIC = "the optimistic paper"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A module of `benchmarks`, and its arguments."""

    name: str
    minutes: float
    """Expected minutes of a full run."""
    full: tuple[Arguments, ...] = ((),)
    quick: tuple[Arguments, ...] = (("--quick",),)
    repeats: str = ""
    """The tables and figures of a paper that it repeats; empty for a question of this project."""


_Q3 = ("--only", "spark", "--log", "cloud", "--query", "Q3")

BENCHMARKS = (
    Benchmark("simulated_logs", 0.5, repeats=f"Table I of {IMPATIENCE}"),
    Benchmark(
        "sort",
        2,
        # The number of runs grows with the log; that of the paper has 20 million rows.
        full=(("--rows", "2000000"), ("--only", "runs")),
        quick=(("--rows", "100000"),),
        repeats=f"Figs. 5, 7 and 8 of {IMPATIENCE}",
    ),
    Benchmark(
        "pushdown",
        0.5,
        full=(("--rows", "1000000"),),
        quick=(("--rows", "50000"),),
        repeats=f"Fig. 9 of {IMPATIENCE}",
    ),
    Benchmark(
        "waits",
        7.5,
        full=(
            ("--only", "table2"),
            ("--only", "local", "--rows", "2000000"),
            (*_Q3, "--rows", "8000000"),
            (*_Q3, "--rows", "8000000", "--window", "1 second"),
        ),
        quick=(
            ("--only", "table2", "--quick"),
            ("--only", "local", "--log", "cloud", "--rows", "200000"),
            (*_Q3, "--rows", "200000"),
        ),
        repeats=f"Table II and Fig. 10 of {IMPATIENCE}",
    ),
    Benchmark(
        "joins",
        3.5,
        quick=(("--quick", "--only", "baselines", "fig7", "--recall", "0.99"),),
        repeats=f"Figs. 6 to 11 and Table II of {JOINS}",
    ),
    Benchmark("joins_spark", 2, quick=(("--seconds", "40", "--rate", "300", "--cold"),)),
    Benchmark(
        "optimistic",
        2,
        full=(("--rows", "50000"),),
        quick=(("--rows", "5000"),),
        repeats=f"Fig. 9 of {OPTIMISTIC}",
    ),
    Benchmark(
        "generator",
        1,
        full=(("--rows", "4000000"),),
        repeats="what the poster on the generator promises",
    ),
    Benchmark(
        "temporal",
        0.5,
        full=(("--rows", "5000000"),),
        quick=(("--rows", "200000"),),
        repeats="the speed that Trill is named for",
    ),
    Benchmark("linear", 0.5, quick=(("--rows", "20000"),)),
    Benchmark("threads", 0.5, quick=(("--rows", "40000"),)),
    Benchmark("key_order", 0.5, quick=(("--rows", "600000"),)),
    Benchmark("batch_sizes", 0.5),
    Benchmark("recall", 2.5, quick=(("--rows", "30000"),)),
    Benchmark(
        "recall_spark",
        1.5,
        quick=(("--rows", "20000", "--batches", "4", "--rounds", "1"),),
    ),
    Benchmark("spark_sort", 3.5, quick=(("--rows", "100000", "--files", "4", "--starts", "1"),)),
    Benchmark("clocks", 0.5, quick=(("--rows", "50000"),)),
    Benchmark("patterns", 1, quick=(("--rows", "50000"),)),
    Benchmark(
        "progressive",
        1,
        full=(("--rows", "3000000"),),
        quick=(("--rows", "100000", "--rounds", "1"),),
    ),
    Benchmark("replay", 1, quick=(("--rows", "300000", "--step", "100000", "--rounds", "1"),)),
    Benchmark("held", 0.1, quick=(("--wait", "120"),)),
    Benchmark("size", 0.5, quick=(("--quick", "--only", "rows", "states", "memory"),)),
    Benchmark(
        "on_call",
        1.5,
        full=(("--batches", "20", "--rounds", "1"),),
        quick=(("--batches", "8", "--only", "driver"),),
    ),
    Benchmark("kernel_start", 0.5, quick=(("--times", "1"),)),
    Benchmark(
        "first_answer",
        4,
        full=(("--rounds", "1"),),
        quick=(("--rounds", "1", "--batches", "5", "--only", "sort"),),
    ),
    Benchmark("scale", 8.5, quick=(("--quick", "--only", "events", "keys", "waits"),)),
    Benchmark(
        "peers",
        8,
        # With fewer rows, the fixed cost of ten micro-batches is most of what is measured.
        quick=(("--quick", "--only", "count", "--system", "latecomer"),),
    ),
    Benchmark(
        "nexmark",
        6,
        # All queries are compared with DuckDB by tests/benchmarks/test_nexmark.py too.
        quick=(("--quick", "--query", "q5", "q8", "q9", "q11"),),
        repeats="queries of Nexmark",
    ),
)


def chosen(names: list[str]) -> tuple[Benchmark, ...]:
    """Return the named benchmarks, or all of them if no name is given."""
    found = {each.name: each for each in BENCHMARKS}
    unknown = [name for name in names if name not in found]
    if unknown:
        message = f"no benchmark {', '.join(unknown)}; there are {', '.join(found)}."
        raise SystemExit(f"{message}\nHint: --list shows what each of them does.")
    return tuple(found[name] for name in names or found)

"""How long must streams wait to be joined with a recall of 90, 95, 99 or 99.9 %?

Repeats Section VI of the paper on quality-driven joins: three streams joined by one key within 5 s
(D×3); four, of which three share a key each with the first, within 3 s (D×4); and the positions of
two teams' players (match). Results are counted, not found: where keys are all alike there
are 10^11.

    baselines   No-K-slack (Fig. 6) and Max-K-slack (Table II)
    fig7        every recall, with EqSel and NonEqSel, and with each feedback
    seeds       what users get by default, on streams and delays of another seed
    fixed       fixed waits, held against a recall of 99 %: what could be had in hindsight, and
                whether the recall of one period says anything about that of the next
    fig8        the period over which recall is measured; here and below on the first 15 minutes of
                D×3 and the first 12 of the match, with what users get by default
    fig9        how often the wait is chosen anew
    fig10       in what steps waits are tried
    fig11       how long it takes to choose a wait, on 5 minutes of each

What is measured is told in `benchmarks.joins_runs`, what the streams are in
`benchmarks.joins_data`. `paper` holds what the paper's text says of its own streams. In the end all
is held against what we want to reach.

    python -m benchmarks.joins [--only fig7] [--data match] [--recall 0.99] [--seed 1] [--quick]
        [--json]
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

from benchmarks.joins_data import QUERIES, SECOND, Data, made
from benchmarks.joins_goals import goals
from benchmarks.joins_paper import told_by_the_paper
from benchmarks.joins_runs import played, told
from latecomer.operators.window_join.buffer_size_manager import Quality
from latecomer.operators.window_join.loop import Wait

RECALLS = (0.9, 0.95, 0.99, 0.999)
MS = 1_000
WHOLE = {"D×3": 30.0, "D×4": 30.0, "match": 46.0}
PART = {"D×3": 15.0, "match": 12.0}
SHORT = dict.fromkeys(WHOLE, 5.0)
QUICK = 6.0
"""Minutes of each."""
FIXED = {
    "D×3": (4_000, 4_500, 5_000, 6_000),
    "D×4": (600, 700, 750, 800, 1_000),
    "match": (800, 900, 1_000, 1_200),
}
"""Fixed waits in milliseconds, around those that a recall of 99 % takes."""

Line = dict[str, Any]


class Bench:
    """What is shared by all questions: the streams, made once."""

    def __init__(
        self, names: list[str], recalls: list[float], seed: int, *, is_quick: bool
    ) -> None:
        self.names, self.recalls, self.seed, self._is_quick = names, recalls, seed, is_quick
        self._made: dict[tuple[str, int, float], Data] = {}
        self._longest: dict[tuple[str, int, float], float] = {}

    def line(
        self, figure: str, name: str, wait: Wait, minutes: dict[str, float], seed: int | None = None
    ) -> Line:
        """Play the streams once."""
        seed = self.seed if seed is None else seed
        key = (name, seed, min(minutes[name], QUICK) if self._is_quick else minutes[name])
        if key not in self._made:
            print(f"making {name} of seed {seed}, {key[2]:g} minutes", file=sys.stderr)
            self._made[key] = made(*key)
            # Compile everything before anything is timed.
            played(made(name, seed, 0.2), Quality(0.9))
        data = self._made[key]
        if key not in self._longest:
            self._longest[key] = float(played(data, "max").waits.mean())
        start = {"benchmark": "joins", "figure": figure, "data": name, "seed": seed}
        start |= _asked(wait) | {"minutes": key[2], "tuples": len(data.arrivals)}
        print(*(f"{k} {v}" for k, v in start.items()), file=sys.stderr)
        found = start | told(played(data, wait), self._longest[key])
        paper = told_by_the_paper(found)
        return found | ({"paper": paper} if paper else {})


def _asked(wait: Wait) -> Line:
    if not isinstance(wait, Quality):
        return {"wait": wait / SECOND if isinstance(wait, int) and wait else wait or "none"}
    return {
        "recall_asked": wait.recall,
        "selectivity": wait.selectivity,
        "feedback": wait.feedback,
        "period_s": wait.period / SECOND,
        "interval_s": wait.interval / SECOND,
        "granularity_ms": wait.granularity / MS,
    }


def baselines(bench: Bench) -> Iterator[Line]:
    for name in bench.names:
        yield bench.line("6", name, 0, WHOLE)
        yield bench.line("table 2", name, "max", WHOLE)


def fig7(bench: Bench) -> Iterator[Line]:
    ways = product(bench.recalls, ("EqSel", "NonEqSel"), ("none", "paper", "calibrated"))
    for name, (recall, selectivity, feedback) in product(bench.names, list(ways)):
        wait = Quality(recall, selectivity=selectivity, feedback=feedback)  # type: ignore[arg-type]
        yield bench.line("7", name, wait, WHOLE)


def seeds(bench: Bench) -> Iterator[Line]:
    for name, recall in product(bench.names, bench.recalls):
        yield bench.line("seeds", name, Quality(recall), WHOLE, bench.seed + 1)


def fixed(bench: Bench) -> Iterator[Line]:
    for name in bench.names:
        for ms in FIXED[name]:
            yield bench.line("fixed", name, ms * MS, WHOLE)


def _varied(bench: Bench, figure: str, option: str, values: tuple[int, ...]) -> Iterator[Line]:
    names = [name for name in bench.names if name in PART]
    for name, recall, value in product(names, (0.95, 0.99), values):
        yield bench.line(figure, name, Quality(recall, **{option: value}), PART)  # type: ignore[arg-type]


def fig11(bench: Bench) -> Iterator[Line]:
    for name, recall, ms in product(bench.names, (0.9, 0.99, 0.999), (1, 10, 100, 1_000)):
        yield bench.line("11", name, Quality(recall, granularity=ms * MS), SHORT)


PERIODS = tuple(seconds * SECOND for seconds in (10, 30, 60, 120, 300))
INTERVALS = tuple(ms * MS for ms in (100, 500, 1_000, 5_000, 10_000))
GRANULARITIES = tuple(ms * MS for ms in (1, 10, 100, 1_000))
QUESTIONS: dict[str, Callable[[Bench], Iterator[Line]]] = {
    "baselines": baselines,
    "fig7": fig7,
    "seeds": seeds,
    "fixed": fixed,
    "fig8": partial(_varied, figure="8", option="period", values=PERIODS),
    "fig9": partial(_varied, figure="9", option="interval", values=INTERVALS),
    "fig10": partial(_varied, figure="10", option="granularity", values=GRANULARITIES),
    "fig11": fig11,
}


def measured(args: argparse.Namespace) -> Iterator[Line]:
    bench = Bench(
        args.data or list(QUERIES), args.recall or list(RECALLS), args.seed, is_quick=args.quick
    )
    lines = []
    for name in args.only or QUESTIONS:
        for line in QUESTIONS[name](bench):
            lines.append(line)
            yield line
    yield from goals(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", choices=QUESTIONS, nargs="+")
    parser.add_argument("--data", choices=QUERIES, nargs="+")
    parser.add_argument("--recall", type=float, nargs="+", help="of fig7 and seeds, only these")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help=f"only {QUICK:g} minutes of each")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    args = parser.parse_args()
    for line in measured(args):
        words = "  ".join(f"{key} {value}" for key, value in line.items())
        print(json.dumps(line, ensure_ascii=False) if args.json else words, flush=True)


if __name__ == "__main__":
    main()

"""Run benchmarks, show their progress, and write the book from their results."""

import argparse
import json
import sys
import time

from benchmarks.book import claims, tables
from benchmarks.book.page import PAGE, written
from benchmarks.book.registry import BENCHMARKS, Benchmark, chosen
from benchmarks.book.results import KEPT, QUICK, Results
from benchmarks.book.runner import Outcome, run
from benchmarks.book.stamp import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(prog="latecomer bench", description=__doc__)
    parser.add_argument("names", nargs="*", help="benchmarks to run; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer rows: minutes, not hours")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    parser.add_argument("--list", action="store_true", help="list the benchmarks")
    parser.add_argument("--write", action="store_true", help="only write the page again")
    args = parser.parse_args()
    if args.list:
        listed(is_json=args.json)
        return 0
    outcomes = [] if args.write else ran(chosen(args.names), args)
    folder, page = (QUICK, QUICK / "benchmarks.md") if args.quick else (KEPT, PAGE)
    written(Results(folder)).write(page, folder)
    say(f"written: {page}")
    if not args.quick:
        fill(Results(folder))
    return 1 if any(outcome.error for outcome in outcomes) else 0


def fill(results: Results) -> None:
    """Write numbers into the sentences and tables of pages."""
    for path in dict.fromkeys([*(ROOT / name for name in claims.PAGES), *tables.pages()]):
        before = path.read_text()
        text = tables.filled(before, results)
        for claim in claims.PAGES.get(str(path.relative_to(ROOT)), ()):
            text = claim.written(text, results)
        if text != before:
            path.write_text(text)
            say(f"written: {path}; read the sentences beside its numbers again")


def listed(*, is_json: bool) -> None:
    results = Results()
    for each in BENCHMARKS:
        minutes = results.minutes(each.name)
        told = f"{each.minutes:g} min expected" if minutes is None else f"{minutes:.1f} min"
        words = {"name": each.name, "minutes": minutes or each.minutes, "repeats": each.repeats}
        print(json.dumps(words) if is_json else f"{each.name:16} {told:16} {each.repeats}")


def ran(benchmarks: tuple[Benchmark, ...], args: argparse.Namespace) -> list[Outcome]:
    """Run benchmarks one after the other, including those after a failed one."""
    outcomes = []
    for number, each in enumerate(benchmarks, 1):
        expected = "" if args.quick else f", about {each.minutes:g} min"
        began = time.perf_counter()
        start = f"[{number}/{len(benchmarks)}]"
        say(f"{start} {each.name}{expected}")

        def progress(text: str, start: str = start, began: float = began) -> None:
            if sys.stderr.isatty():
                say(f"{start} {text}, {time.perf_counter() - began:.0f} s", end="\r")

        outcome = run(
            each,
            QUICK if args.quick else KEPT,
            is_quick=args.quick,
            is_json=args.json,
            say=progress,
        )
        outcomes.append(outcome)
        ended = f"failed: {outcome.error}" if outcome.error else f"{outcome.lines} lines"
        say(f"{start} {each.name}: {ended}, {outcome.seconds:.0f} s")
    failed = [outcome.name for outcome in outcomes if outcome.error]
    total = sum(outcome.seconds for outcome in outcomes)
    say(f"{len(outcomes) - len(failed)} of {len(outcomes)} benchmarks, {total / 60:.1f} min")
    if failed:
        say(f"failed: {', '.join(failed)}; what was kept of them before stays")
    return outcomes


def say(text: str, end: str = "\n") -> None:
    """Print progress on standard error."""
    clear = "\x1b[K" if sys.stderr.isatty() else ""
    print(text, end=clear + end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

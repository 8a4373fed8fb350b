"""Run vectors, compare their results, and count."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests.conformance import local, spark
from tests.conformance.applicable import NotApplicableError, Outcome
from tests.conformance.temporal import run as temporal

Host = Literal["local", "spark"]
Vector = dict[str, Any]


@dataclass(slots=True)
class Report:
    """The outcomes of the vectors of a file."""

    passed: int = 0
    failures: list[str] = field(default_factory=list)
    not_applicable: Counter[str] = field(default_factory=Counter)
    """Number of vectors by reason."""
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """The name of each that is not applicable, and the reason."""

    def skip(self, vector: Vector, reason: str) -> None:
        """Count a vector as not applicable."""
        self.not_applicable[reason] += 1
        self.skipped.append((vector["name"], reason))

    def text(self, *, verbose: bool = False) -> str:
        """Return all failures, all reasons, and a line with the counts.

        Args:
            verbose: Whether to name each vector that is not applicable.
        """
        reasons = [f"not applicable ({n}): {why}" for why, n in self.not_applicable.items()]
        if verbose:
            reasons = [f"not applicable: {name}: {why}" for name, why in self.skipped]
        count = (
            f"{self.passed} passed, {len(self.failures)} failed, "
            f"{self.not_applicable.total()} not applicable"
        )
        return "\n".join([*self.failures, *reasons, count])


def run_file(path: Path, host: Host, *, only: Callable[[Vector], bool] | None = None) -> Report:
    """Run all vectors of a file, or those for which `only` returns True."""
    report = Report()
    vectors = [v for v in json.loads(path.read_text())["vectors"] if only is None or only(v)]
    kinds = (local if host == "local" else spark).KINDS
    # Vectors of kinds with the same function are run together.
    by_run: dict[Any, list[Vector]] = defaultdict(list)
    for vector in vectors:
        kind = kind_of(vector)
        if kind in kinds:
            by_run[kinds[kind]].append(vector)
        else:
            report.skip(vector, f"{kind}: {_why_not(kind, host)}")
    for run, some in by_run.items():
        for vector, outcome in zip(some, run(some), strict=True):
            _note(vector, host, outcome, report)
    return report


def kind_of(vector: Vector) -> str:
    """Return the kind of a vector. Vectors from Trill do not name it."""
    return str(vector.get("kind", "temporal"))


def _note(vector: Vector, host: Host, outcome: Outcome, report: Report) -> None:
    """Compare the outcome of a vector with its expected results."""
    kind = kind_of(vector)
    if isinstance(outcome, NotApplicableError):
        report.skip(vector, f"{kind}: {outcome}")
        return
    expected = temporal.expected(vector) if kind == "temporal" else vector["expected"]
    got = outcome
    if isinstance(got, Exception):
        got = {"error": f"{type(got).__name__}: {got}"}
    # Spark cannot report everything; expected results without a counterpart are not compared.
    compared = {name for name in expected if name in got or host == "local"}
    if compared and all(got.get(name) == expected[name] for name in compared):
        report.passed += 1
        return
    lines = [f"FAILED {vector['name']} ({kind})", f"  input     {json.dumps(_input(vector))}"]
    for name in sorted(expected):
        lines += [f"  {name}", f"    expected {expected[name]}", f"    got      {got.get(name)}"]
    if "error" in got:
        lines.append(f"  {got['error']}")
    report.failures.append("\n".join(lines))


def _input(vector: Vector) -> Any:  # noqa: ANN401 - any JSON
    names = ("query", "policies", "inputs", "inputs_right", "params", "arrivals")
    given = {name: vector[name] for name in names if name in vector}
    return vector.get("input", given)


def _why_not(kind: str, host: Host) -> str:
    reasons = NOT_ON_SPARK if host == "spark" else {}
    return reasons.get(kind, f"no vectors of kind {kind} are known")


NOT_ON_SPARK = {
    "disorder": "measures are taken of times at hand; no host takes part",
    "patience_runs": "runs are those of a kernel; no host takes part",
    "kslack": "a buffer inside the window join, which no host runs alone",
    "synchronizer": "a buffer inside the window join, which no host runs alone",
}

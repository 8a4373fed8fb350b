"""How fast are we against what a user would pick instead?

Two questions on the same rows, 30 % of which come up to 50 s late, with a wait of a minute: how
many rows of each key are there in windows of 10 s (count); which rows of two streams have the same
key and are within 5 s (join). Asked of

    latecomer    on Spark; the count with states in buckets, and on the driver
    Spark        its own `withWatermark`, with state in memory and in RocksDB; and without state
    Flink        PyFlink, Table API and SQL
    Pathway      `windowby` and `interval_join`
    Bytewax      `count_window`; it has no join of rows that are close in time

*Without state* is no answer but a floor for any program in these micro-batches: to count, Spark
reads all rows, and to join, it also passes those of both streams through Python. None are written.

The last three are installed from the package index, each into an environment of its own that is
made here and kept (`--environments`). A system that cannot be installed, or fails, is told as such.
Programs are in `benchmarks/peer_programs`, each set up as its documentation recommends.

    seconds       wall clock of a fresh process, less `start_seconds`
    start_seconds the same program on 2,000 rows in one micro-batch
    results       what it found up to where all have to have answered, and
    is_right      whether that is all there is, and no more; without state there are no results

    python -m benchmarks.peers [--rows 2000000] [--quick] [--only count] [--system Flink] [--json]
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers_data import WINDOW, Data, make

ROOT = Path(__file__).parents[1]
PROGRAMS = Path(__file__).parent / "peer_programs"
WITHOUT_STATE = "Spark, without state"
ROWS = {"count": 2_000_000, "join": 1_000_000}
"""With more rows, joins take some of them more than ten minutes."""
QUICK_ROWS, FEW = 500_000, 2_000
PATIENCE = 600
"""Seconds after which a program is stopped."""

Line = dict[str, Any]


@dataclass(frozen=True)
class Peer:
    system: str
    program: str
    ways: dict[str, tuple[str, ...]]
    """By question, what to call it with."""
    package: str = ""
    """What to install for it; nothing if it runs in our own environment."""


PEERS = (
    Peer("latecomer", "on_spark", {"count": ("", "states on the driver"), "join": ("",)}),
    Peer(
        "Spark",
        "on_spark",
        dict.fromkeys(
            ("count", "join"), ("Spark, state in memory", "Spark, state in RocksDB", WITHOUT_STATE)
        ),
    ),
    Peer("Flink", "on_flink", {"count": ("",), "join": ("",)}, "apache-flink"),
    Peer("Pathway", "on_pathway", {"count": ("",), "join": ("",)}, "pathway"),
    Peer("Bytewax", "on_bytewax", {"count": ("",)}, "bytewax"),
)


class PeerError(Exception):
    """A system could not be installed, or its program failed."""


def python(peer: Peer, environments: Path) -> str:
    """Find the Python that runs a peer; make its environment if there is none yet."""
    if not peer.package:
        return sys.executable
    folder = environments / peer.package
    found = folder / "bin" / "python"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        done([sys.executable, "-m", "venv", str(folder)])
        done([str(found), "-m", "pip", "install", "--quiet", peer.package])
        (folder / "complete").touch()
    return str(found)


def run(peer: Peer, python_: str, question: str, way: str, data: Data) -> Line:
    """Run a program in a fresh process: how long it took, and what it found."""
    out = Path(tempfile.mkdtemp(prefix="latecomer-peers-"))
    program = PROGRAMS / f"{peer.program}.py"
    command = [python_, str(program), question, way, str(data.files), str(out)]
    command += [str(data.results), str(data.until)]
    began = time.perf_counter()
    try:
        said = done(command)
        seconds = time.perf_counter() - began
        results = found(question, out / "results", data.until)
    finally:
        shutil.rmtree(out)
    told = json.loads([line for line in said.splitlines() if line.startswith("{")][-1])
    return {**told, "seconds": seconds, "results": results}


def found(question: str, folder: Path, until: int) -> int:
    """Add up counts, or count pairs, up to where all must have answered."""
    total = 0
    for path in folder.rglob("*"):
        # Spark and Flink keep notes of their own beside results.
        is_note = any(part[0] in "._" for part in path.relative_to(folder).parts)
        if path.is_file() and not is_note:
            with path.open() as lines:
                for line in lines:
                    first, second, third = map(int, line.strip().split(","))
                    if question == "count":
                        total += third if first + WINDOW <= until else 0
                    else:
                        total += max(first, second) <= until
    return total


def done(command: list[str], patience: int = PATIENCE) -> str:
    """Run a command to its end, for at most so many seconds; return what it printed."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=patience
        )
    except subprocess.CalledProcessError as error:
        last = (error.stderr or error.stdout).strip().splitlines()[-1:]
        raise PeerError(last[0] if last else f"it ended with {error.returncode}") from error
    except subprocess.TimeoutExpired as error:
        raise PeerError(f"it took more than {patience} s") from error
    return done.stdout


def measured(question: str, arguments: argparse.Namespace, work: Path) -> Iterator[Line]:
    rows = QUICK_ROWS if arguments.quick else arguments.rows or ROWS[question]
    few = make(question, FEW, work / question / "few", batches=1)
    data = make(question, rows, work / question / "all")
    for peer in PEERS:
        if arguments.system not in (None, peer.system):
            continue
        words = {"benchmark": "peers", "question": question, "system": peer.system}
        if question not in peer.ways:
            yield words | {"way": "", "error": "it has no join of rows that are close in time"}
            continue
        for way in peer.ways[question][: 1 if arguments.quick else None]:
            start = words | {"way": way.removeprefix("Spark, ")}
            try:
                python_ = python(peer, arguments.environments)
                start_seconds = run(peer, python_, question, way, few)["seconds"]
                whole = run(peer, python_, question, way, data)
            except PeerError as error:
                yield start | {"error": str(error)}
                continue
            seconds = whole["seconds"] - start_seconds
            if seconds <= 0:
                yield start | {"error": "with so few rows, starting takes longer than the work"}
                continue
            measures = {
                "version": whole["version"],
                "settings": whole["settings"],
                "rows": rows,
                "seconds": round(seconds, 2),
                "start_seconds": round(start_seconds, 2),
                "rows_per_second": round(rows / seconds),
            }
            if way != WITHOUT_STATE:
                measures["results"] = whole["results"]
                measures["is_right"] = whole["results"] == data.results
            yield start | measures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="default: 2,000,000 to count, half of it to join")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows, one way each")
    parser.add_argument("--only", choices=("count", "join"), help="one of the questions")
    parser.add_argument("--system", choices=[peer.system for peer in PEERS])
    parser.add_argument("--environments", type=Path, default=ROOT / ".peers")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="latecomer-peers-") as work:
        for question in [arguments.only] if arguments.only else ("count", "join"):
            for line in measured(question, arguments, Path(work)):
                words = "  ".join(f"{key} {value}" for key, value in line.items())
                print(json.dumps(line) if arguments.json else words, flush=True)


if __name__ == "__main__":
    main()

"""The command line of the conformance runner."""

import argparse
import sys
from pathlib import Path

from tests.conformance.runner import run_file
from tests.support.short_lived import session


def main() -> int:
    """Run the vectors of one file; fail if one of them fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("file", type=Path, help="a JSON file of vectors")
    parser.add_argument("--host", choices=["local", "spark"], default="local")
    parser.add_argument("-v", "--verbose", action="store_true", help="name what is not applicable")
    arguments = parser.parse_args()
    if arguments.host == "spark":
        session("latecomer-conformance")
    report = run_file(arguments.file, arguments.host)
    print(report.text(verbose=arguments.verbose))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())

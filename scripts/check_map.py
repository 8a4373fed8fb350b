"""Check the map of the code in ARCHITECTURE.md against the files.

The map is the first code block of ARCHITECTURE.md, an indented tree:

    src/latecomer/
      errors.py          every error that is raised
      kernels/           arrays in, positions out
        order.py runs.py   how rows are sorted

Names are at the beginning of a line; a folder ends in `/`. The rest of the line, and every line
that does not begin with a name, is a description. A name belongs to the nearest folder above it
that is indented less, so `base.py` in two folders is two modules.

Three things must hold:

- Every module under `src/latecomer` is on the map. The name of a folder also covers its
  `__init__.py` and its `__main__.py`.
- Every file and folder on the map exists, and is on the map once.
- Every path in backticks in the sections "What always holds" and "Where to change what" exists.
  Paths start at the root of the repository or at `src/latecomer`. A bare file name may also be in
  the folder of the path before it. Words in capitals, as in `operators/NAME.py`, match any name.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PACKAGE = "src/latecomer"
DOCUMENT = "ARCHITECTURE.md"
SECTIONS = ("What always holds", "Where to change what")
FENCE = "```"

_NAME = re.compile(r"[\w/]+(/|\.[a-z]+)")
_QUOTED = re.compile(r"`([\w./]+)`")
_ANY_NAME = re.compile(r"\b[A-Z]+\b")


def main() -> int:
    """Print what is wrong, and return the exit status."""
    found = problems(Path.cwd())
    for problem in found:
        print(problem)
    return 1 if found else 0


def problems(root: Path) -> list[str]:
    """Return what is wrong with the map of the repository at `root`, a sentence each."""
    lines = (root / DOCUMENT).read_text().splitlines()
    return [*_wrong_on_the_map(root, lines), *_wrong_in_sections(root, lines)]


def _wrong_on_the_map(root: Path, lines: list[str]) -> list[str]:
    """Return the problems of the tree: names without a file, repeated names, and missing names."""
    named: dict[str, int] = {}
    wrong = []
    for number, path in _paths_on_the_map(lines):
        at = f"{DOCUMENT}, line {number}: "
        is_there = (root / path).is_dir() if path.endswith("/") else (root / path).is_file()
        if not is_there:
            wrong.append(f"{at}the map names {path}, which does not exist.")
        elif path in named:
            wrong.append(f"{at}{path} is on the map already, on line {named[path]}.")
        named.setdefault(path, number)
    if not named:
        return [f"{DOCUMENT} has no map: its first code block names no files."]
    modules = (path.relative_to(root).as_posix() for path in (root / PACKAGE).rglob("*.py"))
    missing = sorted(path for path in modules if path not in named and not _is_folder(path, named))
    return wrong + [f"{DOCUMENT}: {path} is not on the map." for path in missing]


def _is_folder(path: str, named: dict[str, int]) -> bool:
    """Return True if a module is the `__init__` or `__main__` of a folder that is on the map."""
    folder, _, name = path.rpartition("/")
    return name in ("__init__.py", "__main__.py") and f"{folder}/" in named


def _paths_on_the_map(lines: list[str]) -> list[tuple[int, str]]:
    """Return each path of the tree, from the root of the repository, with its line number."""
    found = []
    folders: list[tuple[int, str]] = []
    for number, line in _first_block(lines):
        indent = len(line) - len(line.lstrip())
        names = _names(line)
        if not names:
            continue
        while folders and folders[-1][0] >= indent:
            folders.pop()
        folder = folders[-1][1] if folders else ""
        found += [(number, folder + name) for name in names]
        # Only a folder that is alone on its line can have entries below it.
        if len(names) == 1 and names[0].endswith("/"):
            folders.append((indent, folder + names[0]))
    return found


def _first_block(lines: list[str]) -> list[tuple[int, str]]:
    """Return the lines of the first code block, each with its number."""
    fences = [at for at, line in enumerate(lines) if line.startswith(FENCE)]
    if not fences:
        return []
    end = fences[1] if len(fences) > 1 else len(lines)
    return [(at + 1, lines[at]) for at in range(fences[0] + 1, end)]


def _names(line: str) -> list[str]:
    """Return the names of files and folders with which a line begins."""
    names = []
    for word in line.split():
        if not _NAME.fullmatch(word):
            break
        names.append(word)
    return names


def _wrong_in_sections(root: Path, lines: list[str]) -> list[str]:
    """Return the paths of the checked sections that do not exist."""
    wrong = []
    for title in SECTIONS:
        numbered = _section(lines, title)
        if not numbered:
            wrong.append(f'{DOCUMENT} has no section "{title}".')
        before = ""
        for number, line in numbered:
            if line.startswith(("- ", "| ")):
                before = ""
            for path in _QUOTED.findall(line):
                if "/" not in path and not path.endswith(".py"):
                    continue
                resolved = _resolve(root, path, before)
                if resolved is None:
                    wrong.append(f"{DOCUMENT}, line {number}: there is no {path}.")
                before = resolved or before
    return wrong


def _section(lines: list[str], title: str) -> list[tuple[int, str]]:
    """Return the lines under a heading, each with its number."""
    start = next((at for at, line in enumerate(lines) if line == f"## {title}"), None)
    if start is None:
        return []
    rest = range(start + 1, len(lines))
    end = next((at for at in rest if lines[at].startswith("## ")), len(lines))
    return [(at + 1, lines[at]) for at in range(start, end)]


def _resolve(root: Path, path: str, before: str) -> str | None:
    """Return a path of the text from the root of the repository, and None if there is none."""
    bases = ["", f"{PACKAGE}/"]
    if "/" not in path and before:
        bases.insert(0, before.rpartition("/")[0] + "/")
    pattern = _ANY_NAME.sub("*", path.rstrip("/"))
    for base in bases:
        if any(root.glob(base + pattern)):
            return base + path
    return None


if __name__ == "__main__":
    sys.exit(main())

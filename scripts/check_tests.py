"""Check that every module with logic has a test module of its name.

The tests of `src/latecomer/operators/sort.py` are in `tests/operators/test_sort.py`. A module whose
name is unique may have its tests in any folder under `tests`. If several packages have a module of
the same name, such as `base.py`, only the folder that mirrors the package counts. A package's
`__init__.py` is tested under the name of the package, in the package's folder or in its parent:
`tests/cli/test_cli.py` or `tests/test_cli.py`.

A module has logic if one of its functions or methods has a body. Constants, fields, protocols,
abstract methods and functions that only raise `NotImplementedError` are no logic. A test module
counts if it has a test.

Tests share helpers in other modules: no test module imports another test module.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path, PurePosixPath

PACKAGE = "src/latecomer"
TESTS = "tests"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> int:
    """Print what is wrong, and return the exit status."""
    found = problems(Path.cwd())
    for problem in found:
        print(problem)
    return 1 if found else 0


def problems(root: Path) -> list[str]:
    """Return what is wrong in the repository at `root`, a sentence each."""
    return [*_untested(root), *_imported(root)]


def _untested(root: Path) -> list[str]:
    """Return a sentence for each module with logic that has no test module of its name."""
    modules = [
        PurePosixPath(path.relative_to(root / PACKAGE).as_posix())
        for path in sorted((root / PACKAGE).rglob("*.py"))
        if has_logic(ast.parse(path.read_text()))
    ]
    times = Counter(map(_name, modules))
    tests = {path.relative_to(root / TESTS).as_posix() for path in _test_modules(root)}
    names = {test.rpartition("/")[2] for test in tests}
    wrong = []
    for module in modules:
        test = f"test_{_name(module)}.py"
        places = [(folder / test).as_posix() for folder in _folders(module)]
        is_tested = not tests.isdisjoint(places) or (times[_name(module)] == 1 and test in names)
        if not is_tested:
            wrong.append(f"{PACKAGE}/{module} has no test module: write {TESTS}/{places[0]}.")
    return wrong


def _name(module: PurePosixPath) -> str:
    """Return the name under which a module is tested."""
    if module.stem == "__init__":
        return module.parent.name or "latecomer"
    return module.stem.strip("_")


def _folders(module: PurePosixPath) -> list[PurePosixPath]:
    """Return the folders under `tests` that mirror the place of a module."""
    if module.stem == "__init__":
        return [module.parent, module.parent.parent]
    return [module.parent]


def has_logic(tree: ast.Module) -> bool:
    """Return True if a function or method of a module has a body."""
    return any(_has_logic(node) for node in tree.body)


def _has_logic(node: ast.stmt) -> bool:
    """Return True if a statement is or contains a function with a body."""
    if isinstance(node, Function):
        return any(not _is_empty(each) for each in node.body)
    if isinstance(node, ast.ClassDef):
        bases = {getattr(base, "id", getattr(base, "attr", "")) for base in node.bases}
        return "Protocol" not in bases and any(map(_has_logic, node.body))
    if isinstance(node, ast.If | ast.Try):
        return any(map(_has_logic, [*node.body, *node.orelse]))
    return False


def _is_empty(node: ast.stmt) -> bool:
    """Return True for a statement that does nothing in the body of a function."""
    if isinstance(node, ast.Raise):
        return "NotImplementedError" in ast.unparse(node)
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _test_modules(root: Path) -> list[Path]:
    """Return the modules under `tests` that have a test in them."""
    return [path for path in sorted((root / TESTS).rglob("test_*.py")) if _has_tests(path)]


def _has_tests(path: Path) -> bool:
    """Return True if a module defines a test."""
    return any(
        isinstance(node, Function) and node.name.startswith("test_")
        for node in ast.walk(ast.parse(path.read_text()))
    )


def _imported(root: Path) -> list[str]:
    """Return a sentence for each import of a test module."""
    wrong = []
    for path in sorted((root / TESTS).rglob("*.py")):
        place = path.relative_to(root).as_posix()
        wrong += [
            f"{place}:{line} imports {name}; put what they share into a module of its own."
            for line, name in _imports(ast.parse(path.read_text()))
            if _is_test_module(root, name)
        ]
    return wrong


def _imports(tree: ast.Module) -> list[tuple[int, str]]:
    """Return the dotted names that a module imports, each with its line."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, each.name) for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            found.append((node.lineno, start))
            found += [(node.lineno, f"{start}.{each.name}") for each in node.names]
    return found


def _is_test_module(root: Path, name: str) -> bool:
    """Return True if a dotted name is that of a test module."""
    folder, _, last = name.rpartition(".")
    if not last.startswith("test_"):
        return False
    is_relative = not folder or folder.startswith(".")
    return is_relative or (root / folder.replace(".", "/") / f"{last}.py").is_file()


if __name__ == "__main__":
    sys.exit(main())

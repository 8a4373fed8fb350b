"""Check that code outside `operators/` does not recognize operators by their class.

An operator declares what hosts and the planner need to know about it. A host that tests
`isinstance(operator, Sort)` depends on more than that, and must be changed together with the
operator. At most five such tests are allowed, and `ALLOWED` lists each with its reason.

An operator class is a class under `src/latecomer/operators` that

- is or inherits from `Operator`, `Temporal`, `Binary` or `Optimistic`,
- has a method `start`: it is the specification of an operator,
- has the methods `push` and `advance`, or inherits from such a class: it is a running operator,

and `Meeting` and `Gathering` in `src/latecomer/plan`. A question is `isinstance`, `issubclass`, a
`case` of a `match`, or a comparison with `type(x)` or `x.__class__`. A name that was assigned a
tuple or a union of classes counts as each of them.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PACKAGE = "src/latecomer"
OPERATORS = f"{PACKAGE}/operators/"
PLAN = f"{PACKAGE}/plan/"
MOST = 5

ALLOWED: dict[tuple[str, str], str] = {
    ("api/aggregated.py", "Aggregation"): (
        "results can be aggregated again only by the operator that made them"
    ),
    ("hosts/spark/driver/partials.py", "Aggregation"): (
        "Spark SQL computes the states of windows, so it has to know what they are made of"
    ),
}
"""The questions that are allowed: a file (under `src/latecomer`) and a class, and the reason."""

_ROOTS = {"Operator", "Temporal", "Binary", "Optimistic"}
_OF_PLAN = {"Meeting", "Gathering"}


class Question(NamedTuple):
    """A place that tests the class of an operator."""

    path: str
    """The file, under `src/latecomer`."""
    line: int
    name: str
    """The class."""


def main() -> int:
    """Print what is wrong, and return the exit status."""
    found = problems(Path.cwd(), ALLOWED)
    for problem in found:
        print(problem)
    return 1 if found else 0


def problems(root: Path, allowed: Mapping[tuple[str, str], str]) -> list[str]:
    """Return what is wrong in the repository at `root`, a sentence each."""
    asked = questions(root)
    wrong = [
        f"{PACKAGE}/{each.path}:{each.line} recognises {each.name} by its class."
        for each in asked
        if (each.path, each.name) not in allowed
    ]
    places = {(each.path, each.line) for each in asked}
    if len(places) > MOST:
        wrong.append(
            f"Operators are recognised by their class in {len(places)} places; "
            f"at most {MOST} are allowed."
        )
    still = {(each.path, each.name) for each in asked}
    for (path, name), reason in allowed.items():
        if (path, name) not in still:
            wrong.append(f"{path} no longer recognises {name}: take it off the list ALLOWED.")
        if not reason.strip():
            wrong.append(f"ALLOWED gives no reason why {path} recognises {name}.")
    return wrong


def questions(root: Path) -> list[Question]:
    """Return every place outside `operators/` that tests the class of an operator."""
    names = operator_classes(root)
    found = []
    for path in sorted((root / PACKAGE).rglob("*.py")):
        if path.relative_to(root).as_posix().startswith(OPERATORS):
            continue
        place = path.relative_to(root / PACKAGE).as_posix()
        module = _Module(ast.parse(path.read_text()), names)
        found += [Question(place, line, name) for line, name in sorted(module.questions())]
    return found


def operator_classes(root: Path) -> set[str]:
    """Return the names of the operator classes, found by reading the source."""
    classes = [
        node
        for path in (root / OPERATORS).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    found = {each.name for each in classes if each.name in _ROOTS or _is_operator(each)}
    size = -1
    while len(found) > size:
        size = len(found)
        found |= {each.name for each in classes if found & set(map(_last, each.bases))}
    in_plan = {
        node.name
        for path in (root / PLAN).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and node.name in _OF_PLAN
    }
    return found | in_plan


def _is_operator(node: ast.ClassDef) -> bool:
    """Return True if a class has the methods of a specification or of a running operator."""
    methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    return "start" in methods or {"push", "advance"} <= methods


def _last(node: ast.expr) -> str:
    """Return the last part of a dotted name, and nothing for other expressions."""
    if isinstance(node, ast.Subscript):
        return _last(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


class _Module:
    """The source of a module, and which names in it are operator classes."""

    def __init__(self, tree: ast.Module, operators: set[str]) -> None:
        self._tree = tree
        self._operators = operators
        self._ours: dict[str, str] = {}
        """Names of Latecomer in this module, with their names where they are defined."""
        self._groups: dict[str, ast.expr] = {}
        """The values of this module's constants, by name."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("latecomer"):
                self._ours |= {each.asname or each.name: each.name for each in node.names}
            elif isinstance(node, ast.Import):
                self._ours |= {
                    each.asname or "latecomer": ""
                    for each in node.names
                    if each.name.startswith("latecomer")
                }
            elif isinstance(node, ast.ClassDef):
                self._ours[node.name] = node.name
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._groups[node.targets[0].id] = node.value

    def questions(self) -> Iterator[tuple[int, str]]:
        """Yield the line and the class of each question."""
        for node in ast.walk(self._tree):
            for asked in _asked(node):
                yield from ((asked.lineno, name) for name in self._classes(asked))

    def _classes(self, node: ast.expr) -> Iterator[str]:
        """Yield the operator classes that an expression names."""
        if isinstance(node, ast.Name) and node.id in self._groups:
            node = self._groups[node.id]
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            for each in node.elts:
                yield from self._classes(each)
        elif isinstance(node, ast.BinOp):
            yield from self._classes(node.left)
            yield from self._classes(node.right)
        elif self._name(node) in self._operators:
            yield self._name(node)

    def _name(self, node: ast.expr) -> str:
        """Return the name under which Latecomer defines a name; "" for other names."""
        first = node
        while isinstance(first, ast.Attribute):
            first = first.value
        if not isinstance(first, ast.Name) or first.id not in self._ours:
            return ""
        return node.attr if isinstance(node, ast.Attribute) else self._ours[first.id]


def _asked(node: ast.AST) -> list[ast.expr]:
    """Return the expressions with which a node compares the class of a value."""
    if isinstance(node, ast.Call) and _last(node.func) in ("isinstance", "issubclass"):
        return node.args[1:]
    if isinstance(node, ast.MatchClass):
        return [node.cls]
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return [side for side in sides if any(_is_type(each) for each in sides)]
    return []


def _is_type(node: ast.expr) -> bool:
    """Return True for `type(x)` and `x.__class__`."""
    if isinstance(node, ast.Call):
        return _last(node.func) == "type"
    return isinstance(node, ast.Attribute) and node.attr == "__class__"


if __name__ == "__main__":
    sys.exit(main())

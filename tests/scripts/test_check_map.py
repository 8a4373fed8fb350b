from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scripts.check_map import main, problems

if TYPE_CHECKING:
    from pathlib import Path

FILES = (
    "src/latecomer/__init__.py",
    "src/latecomer/errors.py",
    "src/latecomer/kernels/__init__.py",
    "src/latecomer/kernels/base.py",
    "src/latecomer/kernels/order.py",
    "src/latecomer/operators/__init__.py",
    "src/latecomer/operators/base.py",
    "src/latecomer/cli/__init__.py",
    "src/latecomer/cli/__main__.py",
    "tests/kernels/test_order.py",
    "tests/kernels/test_base.py",
    "benchmarks/sort.py",
)

MAP = """\
src/latecomer/
  errors.py          every error that is raised
  kernels/           arrays in,
                     positions out
    base.py order.py   what sorts rows
  operators/
    base.py            what an operator is
  cli/               the commands
"""

HOLDS = "- Rows are sorted (`tests/kernels/test_order.py`, `test_base.py`), see `order`.\n"
CHANGES = "| add a kernel | `kernels/NAME.py`, a question in `benchmarks/` |\n"


def document(tree: str = MAP, holds: str = HOLDS, changes: str = CHANGES) -> str:
    return (
        f"# A map\n\n```\n{tree}```\n\n"
        f"## What always holds\n\n{holds}\n"
        f"## Where to change what\n\n{changes}\n"
        "## Anything else\n\n`not/checked.py`\n"
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def found(root: Path, text: str) -> list[str]:
    (root / "ARCHITECTURE.md").write_text(text)
    return problems(root)


def test_a_map_with_every_module_and_every_path_has_no_problems(root: Path) -> None:
    assert found(root, document()) == []


def test_a_module_that_is_not_on_the_map_is_named(root: Path) -> None:
    tree = MAP.replace("base.py order.py", "base.py")

    assert found(root, document(tree)) == [
        "ARCHITECTURE.md: src/latecomer/kernels/order.py is not on the map."
    ]


def test_a_name_counts_for_its_own_folder_only(root: Path) -> None:
    tree = MAP.replace("    base.py            what an operator is\n", "")

    assert found(root, document(tree)) == [
        "ARCHITECTURE.md: src/latecomer/operators/base.py is not on the map."
    ]


def test_a_folder_that_is_not_on_the_map_does_not_stand_for_its_init(root: Path) -> None:
    tree = MAP.replace("  cli/               the commands\n", "")

    assert found(root, document(tree)) == [
        "ARCHITECTURE.md: src/latecomer/cli/__init__.py is not on the map.",
        "ARCHITECTURE.md: src/latecomer/cli/__main__.py is not on the map.",
    ]


def test_a_module_and_a_folder_that_are_gone_are_named_with_their_lines(root: Path) -> None:
    tree = MAP + "  gone/\n    a.py\n"

    assert found(root, document(tree)) == [
        "ARCHITECTURE.md, line 12: the map names src/latecomer/gone/, which does not exist.",
        "ARCHITECTURE.md, line 13: the map names src/latecomer/gone/a.py, which does not exist.",
    ]


def test_a_module_is_on_the_map_once(root: Path) -> None:
    tree = MAP + "  errors.py\n"

    assert found(root, document(tree)) == [
        "ARCHITECTURE.md, line 12: src/latecomer/errors.py is on the map already, on line 5."
    ]


def test_a_document_without_a_map_is_refused(root: Path) -> None:
    no_map = document().replace("```", "")

    assert found(root, no_map)[0] == (
        "ARCHITECTURE.md has no map: its first code block names no files."
    )


def test_a_test_that_is_gone_is_named(root: Path) -> None:
    holds = HOLDS.replace("test_base", "test_runs")

    assert found(root, document(holds=holds)) == [
        "ARCHITECTURE.md, line 16: there is no test_runs.py."
    ]


def test_a_bare_name_is_not_looked_for_in_the_folder_of_another_item(root: Path) -> None:
    holds = HOLDS + "- Rows are based (`test_base.py`).\n"

    assert found(root, document(holds=holds)) == [
        "ARCHITECTURE.md, line 17: there is no test_base.py."
    ]


def test_a_placeholder_needs_a_folder_with_something_in_it(root: Path) -> None:
    changes = CHANGES.replace("kernels/NAME.py", "operators/temporal/NAME.py")

    assert found(root, document(changes=changes)) == [
        "ARCHITECTURE.md, line 20: there is no operators/temporal/NAME.py."
    ]


def test_both_sections_must_be_there(root: Path) -> None:
    text = document().replace("## Where to change what", "## Where things are")

    assert found(root, text) == ['ARCHITECTURE.md has no section "Where to change what".']


def test_the_exit_status_says_whether_anything_is_wrong(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)

    assert found(root, document()) == []
    assert main() == 0
    assert capsys.readouterr().out == ""

    found(root, document(MAP + "  gone.py\n"))
    assert main() == 1
    assert "src/latecomer/gone.py" in capsys.readouterr().out

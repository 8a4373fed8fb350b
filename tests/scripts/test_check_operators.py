from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from scripts import check_operators
from scripts.check_operators import main, operator_classes, problems, questions

if TYPE_CHECKING:
    from pathlib import Path

OPERATORS = """\
    class Operator(Protocol): ...

    class Temporal(ABC): ...

    class Clip(Temporal): ...

    class Longer(Clip): ...

    class Sort:
        def start(self, schema): ...

    class Sorter:
        def push(self, batch): ...
        def advance(self, watermark): ...

    class Faster(Sorter): ...

    class Chunk:
        def push(self, batch): ...
    """

PLAN = "class Meeting: ...\nclass Stage: ...\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, "operators/sort.py", OPERATORS)
    write(tmp_path, "plan/plan.py", PLAN)
    return tmp_path


def write(root: Path, name: str, source: str) -> None:
    path = root / "src/latecomer" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(source))


def asked(root: Path, source: str) -> list[tuple[int, str]]:
    write(root, "hosts/stage.py", source)
    found = questions(root)
    assert {each.path for each in found} <= {"hosts/stage.py"}
    return [(each.line, each.name) for each in found]


def test_operator_classes_are_found_by_what_they_inherit_and_by_their_methods(root: Path) -> None:
    assert operator_classes(root) == {
        *("Operator", "Temporal", "Clip", "Longer", "Sort", "Sorter", "Faster", "Meeting"),
    }


@pytest.mark.parametrize(
    "question",
    [
        "isinstance(x, Sort)",
        "isinstance(x, (int, Sort))",
        "isinstance(x, int | Sort)",
        "issubclass(x, Sort)",
        "type(x) is Sort",
        "Sort != type(x)",
        "type(x) in {Sort, int}",
        "x.__class__ is Sort",
    ],
)
def test_every_way_to_test_a_class_is_found(root: Path, question: str) -> None:
    source = f"from latecomer.operators.sort import Sort\n{question}\n"

    assert asked(root, source) == [(2, "Sort")]


def test_a_case_of_a_match_tests_a_class(root: Path) -> None:
    source = """\
    from latecomer.operators.sort import Clip, Sort
    match x:
        case Sort(by="time"): ...
        case [Clip()]: ...
    """

    assert asked(root, source) == [(3, "Sort"), (4, "Clip")]


def test_a_constant_stands_for_the_classes_in_it_each_time_it_is_used(root: Path) -> None:
    source = """\
    from latecomer.operators.sort import Clip, Sort
    _BOTH = (Clip, Sort)
    isinstance(x, _BOTH)
    isinstance(y, _BOTH)
    """

    assert asked(root, source) == [(3, "Clip"), (3, "Sort"), (4, "Clip"), (4, "Sort")]


def test_a_class_is_known_by_another_name_and_by_its_module(root: Path) -> None:
    source = """\
    import latecomer.operators.sort as s
    from latecomer.operators import sort
    from latecomer.operators.sort import Sort as Ordering
    isinstance(x, Ordering)
    isinstance(x, sort.Sort)
    isinstance(x, s.Sort)
    """

    assert asked(root, source) == [(4, "Sort"), (5, "Sort"), (6, "Sort")]


def test_a_class_of_the_plan_is_found_where_it_is_defined(root: Path) -> None:
    write(root, "plan/plan.py", PLAN + "isinstance(x, Meeting)\nisinstance(x, Stage)\n")

    assert [(each.path, each.line, each.name) for each in questions(root)] == [
        ("plan/plan.py", 3, "Meeting")
    ]


def test_other_classes_and_other_mentions_of_operators_are_no_questions(root: Path) -> None:
    source = """\
    from collections.abc import Sort
    from latecomer.operators.sort import Clip, Chunk
    isinstance(x, Sort)
    isinstance(x, Chunk)
    isinstance(Clip, str)
    Clip() == x
    """

    assert asked(root, source) == []


def test_operators_may_test_each_others_classes(root: Path) -> None:
    write(
        root,
        "operators/levels.py",
        "from latecomer.operators.sort import Sort\nisinstance(x, Sort)\n",
    )

    assert questions(root) == []


def test_a_question_must_be_on_the_list_of_its_file(root: Path) -> None:
    asked(root, "from latecomer.operators.sort import Clip, Sort\nisinstance(x, Clip | Sort)\n")
    allowed = {
        ("hosts/stage.py", "Clip"): "it is the one that cuts",
        ("hosts/local.py", "Sort"): "it is the one that sorts",
    }

    assert problems(root, allowed) == [
        "src/latecomer/hosts/stage.py:2 recognises Sort by its class.",
        "hosts/local.py no longer recognises Sort: take it off the list ALLOWED.",
    ]


def test_a_question_on_the_list_needs_a_reason(root: Path) -> None:
    asked(root, "from latecomer.operators.sort import Sort\nisinstance(x, Sort)\n")

    assert problems(root, {("hosts/stage.py", "Sort"): " "}) == [
        "ALLOWED gives no reason why hosts/stage.py recognises Sort."
    ]
    assert problems(root, {("hosts/stage.py", "Sort"): "it is the one that sorts"}) == []


def test_five_places_are_allowed_and_not_six(root: Path) -> None:
    allowed = {("hosts/stage.py", "Sort"): "it is the one that sorts"}
    source = "from latecomer.operators.sort import Sort\n"

    asked(root, source + 5 * "isinstance(x, Sort)\n")
    assert problems(root, allowed) == []

    asked(root, source + 6 * "isinstance(x, Sort)\n")
    assert problems(root, allowed) == [
        "Operators are recognised by their class in 6 places; at most 5 are allowed."
    ]


def test_the_exit_status_says_whether_anything_is_wrong(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setattr(check_operators, "ALLOWED", {})

    assert main() == 0
    assert capsys.readouterr().out == ""

    asked(root, "from latecomer.operators.sort import Sort\nisinstance(x, Sort)\n")
    assert main() == 1
    assert "src/latecomer/hosts/stage.py:2" in capsys.readouterr().out

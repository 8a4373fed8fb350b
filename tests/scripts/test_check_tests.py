from __future__ import annotations

import ast
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from scripts.check_tests import has_logic, main, problems

if TYPE_CHECKING:
    from pathlib import Path

LOGIC = "def double(x):\n    return 2 * x\n"
TEST = "def test_two_is_doubled_to_four():\n    assert double(2) == 4\n"


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    "source",
    [
        "def double(x):\n    return 2 * x",
        "async def double(x):\n    return 2 * x",
        "class Pair:\n    def swap(self):\n        return Pair(self.b, self.a)",
        "class Outer:\n    class Inner:\n        def zero(self):\n            return 0",
        "if True:\n    def double(x):\n        return 2 * x",
        "try:\n    import a\nexcept ImportError:\n    pass\nelse:\n    def f():\n        return 1",
    ],
)
def test_a_function_with_a_body_is_logic(source: str) -> None:
    assert has_logic(ast.parse(source))


@pytest.mark.parametrize(
    "source",
    [
        '"""Nothing but words."""\nimport os\nfrom os import path',
        "LIMIT = 3\nNAMES = tuple(str(i) for i in range(LIMIT))",
        "@dataclass\nclass Pair:\n    a: int\n    b: int = 0",
        "class Sized(Protocol):\n    def __len__(self):\n        return 0",
        "class Sized(typing.Protocol):\n    def __len__(self):\n        return 0",
        'class Base:\n    @abstractmethod\n    def start(self):\n        """Start."""',
        "class A:\n    def start(x):\n        raise NotImplementedError\n    def stop(x): ...",
        'class OwnError(ValueError):\n    """Something is wrong."""',
    ],
)
def test_declarations_are_not_logic(source: str) -> None:
    assert not has_logic(ast.parse(source))


def test_a_module_without_a_test_of_its_name_is_named(tmp_path: Path) -> None:
    write(tmp_path, src__latecomer__kernels__order=LOGIC, tests__kernels__test_sort=TEST)

    assert problems(tmp_path) == [
        "src/latecomer/kernels/order.py has no test module: write tests/kernels/test_order.py."
    ]


def test_a_module_without_logic_needs_no_test(tmp_path: Path) -> None:
    write(tmp_path, src__latecomer__kernels__types="Times = int\n")

    assert problems(tmp_path) == []


def test_a_name_that_occurs_once_may_be_tested_anywhere(tmp_path: Path) -> None:
    write(tmp_path, src__latecomer__kernels__order=LOGIC, tests__elsewhere__test_order=TEST)

    assert problems(tmp_path) == []


def test_a_name_that_occurs_twice_is_tested_where_the_package_is_mirrored(tmp_path: Path) -> None:
    write(
        tmp_path,
        src__latecomer__kernels__base=LOGIC,
        src__latecomer__operators__base=LOGIC,
        tests__kernels__test_base=TEST,
    )

    assert problems(tmp_path) == [
        "src/latecomer/operators/base.py has no test module: write tests/operators/test_base.py."
    ]


def test_a_test_module_without_a_test_does_not_count(tmp_path: Path) -> None:
    write(tmp_path, src__latecomer__order=LOGIC, tests__test_order="from latecomer import order\n")

    assert problems(tmp_path) == [
        "src/latecomer/order.py has no test module: write tests/test_order.py."
    ]


@pytest.mark.parametrize("place", ["tests/cli/test_cli.py", "tests/test_cli.py"])
def test_an_init_is_tested_under_the_name_of_its_package(tmp_path: Path, place: str) -> None:
    init = tmp_path / "src/latecomer/cli/__init__.py"
    init.parent.mkdir(parents=True)
    init.write_text(LOGIC)

    assert problems(tmp_path) == [
        "src/latecomer/cli/__init__.py has no test module: write tests/cli/test_cli.py."
    ]

    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).write_text(TEST)
    assert problems(tmp_path) == []


@pytest.mark.parametrize(
    "line",
    [
        "from tests.hosts.test_spark import rows",
        "from tests.hosts import test_spark",
        "import tests.hosts.test_spark",
        "from . import test_spark",
        "from .test_spark import rows",
    ],
)
def test_no_module_imports_a_test_module(tmp_path: Path, line: str) -> None:
    write(tmp_path, tests__hosts__test_spark=TEST, tests__hosts__helpers=f"{line}\n")

    [problem] = problems(tmp_path)

    assert problem.startswith("tests/hosts/helpers.py:1 imports ")
    assert "test_spark; put what they share into a module of its own." in problem


def test_helpers_may_be_imported_and_so_may_names_that_begin_like_tests(tmp_path: Path) -> None:
    source = dedent("""\
        from tests.hosts.helpers import test_rows
        from benchmarks import test_data
        import tests.hosts.helpers
    """)
    write(tmp_path, tests__hosts__test_spark=source, tests__hosts__helpers="test_rows = []\n")

    assert problems(tmp_path) == []


def test_the_exit_status_says_whether_anything_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, src__latecomer__order=LOGIC, tests__test_order=TEST)

    assert main() == 0
    assert capsys.readouterr().out == ""

    (tmp_path / "tests/test_order.py").unlink()
    assert main() == 1
    assert "src/latecomer/order.py" in capsys.readouterr().out

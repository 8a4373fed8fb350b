from pathlib import Path

import pytest

from tests.support import smoke

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("test", smoke.TESTS)
def test_tests_chosen_for_the_oldest_spark_exist(test: str) -> None:
    module, _, name = test.partition("::")

    assert f"\ndef {name}(" in (ROOT / module).read_text()


def test_only_the_first_of_several_parameters_is_chosen() -> None:
    first, other = smoke.TESTS[:2]

    assert smoke.chosen([f"{other}[b]", "no.py::test", f"{other}[a]", first]) == [3, 0]


def test_all_modules_of_these_tests_and_of_lakes_are_collected() -> None:
    modules = smoke.modules()

    assert {test.partition("::")[0] for test in smoke.TESTS} <= {*modules}
    assert {"tests/lakes/test_kills.py", "tests/hosts/spark/tables/test_kafka.py"} <= {*modules}
    assert "tests/test_time.py" not in modules

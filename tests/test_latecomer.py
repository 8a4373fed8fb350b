"""The package itself; for its public names see tests/api/test_public_api.py."""

import ast
import inspect
from importlib import import_module

import pytest

import latecomer as lc
from latecomer import errors


def test_only_public_names_are_shown() -> None:
    assert sorted(dir(lc)) == sorted(lc.__all__)
    assert "renamed" not in dir(lc)


def test_every_public_name_is_there() -> None:
    assert [name for name in lc.__all__ if not hasattr(lc, name)] == []


def test_names_are_imported_from_the_modules_that_type_checkers_see() -> None:
    told = {
        name.name: node.module
        for node in ast.walk(ast.parse(inspect.getsource(lc)))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("latecomer.")
        for name in node.names
        if name.name in lc.__all__
    }

    told |= dict.fromkeys(errors.__all__, "latecomer.errors")
    assert {*told} == {*lc.__all__} - {"__version__"}
    for name, module in told.items():
        assert getattr(lc, name) is getattr(import_module(str(module)), name)


def test_profile_is_the_function_also_after_its_package_was_imported() -> None:
    import_module("latecomer.profile.live")

    assert callable(lc.profile)


@pytest.mark.parametrize(("old", "new"), [("achieved", "recall"), ("disorder", "inject_disorder")])
def test_a_name_of_the_release_before_works_with_a_warning(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"latecomer.{old} is now latecomer.{new}"):
        found = getattr(lc, old)

    assert found is getattr(lc, new)


def test_a_name_that_never_was_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'latecomer' has no attribute 'nothing'"):
        lc.nothing  # type: ignore[attr-defined]  # noqa: B018

"""Tests do not run the benchmarks, but check that they can be imported and started."""

import pkgutil
from importlib import import_module

import pytest

import benchmarks

MODULES = [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_a_benchmark_finds_all_that_it_needs(name: str) -> None:
    import_module(f"benchmarks.{name}")

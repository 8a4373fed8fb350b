"""All public classes of aggregates."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

from latecomer.operators import aggregates
from latecomer.operators.aggregates.base import Aggregate


def concrete() -> set[type[Aggregate]]:
    found = set()
    for module in pkgutil.iter_modules(aggregates.__path__, f"{aggregates.__name__}."):
        for kind in vars(import_module(module.name)).values():
            is_one = isinstance(kind, type) and issubclass(kind, Aggregate)
            if is_one and not inspect.isabstract(kind) and not kind.__name__.startswith("_"):
                found.add(kind)
    return found

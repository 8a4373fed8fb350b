"""Parts of a running join that are saved by the names of their attributes.

    saves = ("newest", "held")    ─▶  {"newest": 7, "held.times": […], "held.rows": […], …}

An attribute is a number, an array, arrays of one length (`Aligned`), another such part, a list of
such parts, or None if there is no such part.
"""

from typing import ClassVar

import numpy as np

from latecomer.arrays import Arrays, nested, part
from latecomer.operators.window_join.tuples import Aligned


class Savable:
    """A part of a running join whose state can be saved and loaded."""

    saves: ClassVar[tuple[str, ...]] = ()
    """Names of the attributes that are saved."""

    def save(self) -> Arrays:
        found: Arrays = {}
        for name in self.saves:
            value = getattr(self, name)
            if isinstance(value, Savable | Aligned):
                found |= nested(name, value.save())
            elif isinstance(value, list):
                for number, each in enumerate(value):
                    found |= nested(f"{name}.{number}", each.save())
            elif value is not None:
                found[name] = np.asarray(value)
        return found

    def load(self, arrays: Arrays) -> None:
        for name in self.saves:
            value = getattr(self, name)
            if isinstance(value, Savable):
                value.load(part(name, arrays))
            elif isinstance(value, Aligned):
                setattr(self, name, value.saved(part(name, arrays)))
            elif isinstance(value, list):
                for number, each in enumerate(value):
                    each.load(part(f"{name}.{number}", arrays))
            elif isinstance(value, np.ndarray):
                setattr(self, name, arrays[name])
            elif value is not None:
                setattr(self, name, type(value)(arrays[name]))

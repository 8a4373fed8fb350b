"""What the specifications of temporal operators have in common."""

from latecomer.operators.base import Operator


class Temporal(Operator):
    """An operator on lifetimes; the specification."""

    __slots__ = ()

"""The base class of the specifications of temporal operators."""

from latecomer.operators.base import Operator


class Temporal(Operator):
    """The specification of an operator on lifetimes."""

    __slots__ = ()

"""Patterns as trees, and the pattern that remains after an event.

A tree describes the events that are still to come. Taking an event returns the remaining trees, so
matching needs no automaton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

Tree = tuple[Any, ...]
"""("event", name), ("then", first, second, unless), ("or", one, other), ("some", tree, least,
most), or () for the empty pattern. `unless` is True or False."""
OFTEN = [(1, None), (0, None), (0, 1), (2, 2), (1, 3), (0, 2), (2, None)]


def draw_tree(rng: random.Random, names: list[str]) -> Tree:
    if len(names) == 1:
        tree: Tree = ("event", names[0])
    else:
        cut = rng.randrange(1, len(names))
        parts = draw_tree(rng, names[:cut]), draw_tree(rng, names[cut:])
        tree = ("or", *parts) if rng.random() < 0.25 else ("then", *parts, rng.random() < 0.3)
    if rng.random() < 0.3:
        tree = ("some", tree, *rng.choice(OFTEN))
    return tree


def may_be_empty(tree: Tree) -> bool:
    match tree:
        case ():
            return True
        case ("then" | "rest", one, other, _):
            return may_be_empty(one) and may_be_empty(other)
        case ("or", one, other):
            return may_be_empty(one) or may_be_empty(other)
        case ("some", of, least, _):
            return least == 0 or may_be_empty(of)
    return False


def after(tree: Tree, name: str) -> list[tuple[Tree, bool]]:
    """Return the remaining pattern for each way in which the named event can come first.

    The flag of each is True if no row since the last event may meet the guard. A "rest" is a "then"
    whose first part has begun.
    """
    match tree:
        case ("event", own):
            return [((), False)] if own == name else []
        case ("then" | "rest" as how, one, other, unless):
            ways = [(("rest", left, other, unless), by) for left, by in after(one, name)]
            if may_be_empty(one):
                guarded = unless and how == "rest"
                ways += [(left, by or guarded) for left, by in after(other, name)]
            return ways
        case ("or", one, other):
            return after(one, name) + after(other, name)
        case ("some", of, least, most):
            rest = max(least - 1, 0), most and most - 1
            again: Tree = () if most == 1 else ("some", of, *rest)
            return [(("rest", left, again, False), by) for left, by in after(of, name)]
    return []


def names_in(tree: Tree) -> list[str]:
    match tree:
        case ("event", name):
            return [name]
        case ("some", of, _, _):
            return names_in(of)
        case (_, one, other, *_):
            return names_in(one) + names_in(other)
    return []


def is_repeated(tree: Tree, name: str) -> bool:
    match tree:
        case ("some", of, _, most):
            return (most != 1 and name in names_in(of)) or is_repeated(of, name)
        case ("then" | "or", one, other, *_):
            return is_repeated(one, name) or is_repeated(other, name)
    return False

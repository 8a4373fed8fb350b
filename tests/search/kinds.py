"""All kinds of queries, by name."""

from tests.search import (
    distinct,
    lifetimes,
    optimistic,
    patterns,
    sorts,
    temporal,
    window_joins,
    windows,
)
from tests.search.cases import Kind

KINDS: dict[str, Kind] = {
    "sorts": sorts,
    "distinct": distinct,
    "patterns": patterns,
    "windows": windows,
    "lifetimes": lifetimes,
    "temporal": temporal,
    "optimistic": optimistic,
    "window_joins": window_joins,
}

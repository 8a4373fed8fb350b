"""The kinds of queries that are searched."""

from tests.search import lifetimes, sorts, window_joins, windows
from tests.search.cases import Kind

KINDS: dict[str, Kind] = {
    "sorts": sorts,
    "windows": windows,
    "lifetimes": lifetimes,
    "window_joins": window_joins,
}

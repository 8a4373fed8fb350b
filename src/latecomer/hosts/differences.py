"""What has changed in a query, in the user's words.

A query is saved in its checkpoint as settings and as labels of its operators (`latecomer.labels`):

    Aggregation(windows=Windows(size=60000000), summaries=[…[["total", Sum(column="price")]]…])

Labels of two queries are compared part by part. Only parts that differ are named, and durations
are written as durations:

    windows: size was 1 minute, is now 5 minutes
    "total": column was "price", is now "price * 2"
"""

import re
from collections.abc import Iterator
from typing import Any

from latecomer.labels import MARK
from latecomer.time import format_duration

OTHER_WAITS = "waits of other streams"
_SETTINGS = {"wait", "idle", "horizon", "within", OTHER_WAITS}
"""Settings that are durations in microseconds."""
_DURATIONS = {
    *("size", "hop", "origin", "horizon", "within", "duration", "by", "limit", "lag", "timeout"),
    *("max_duration", "period", "interval", "granularity", "basic_window", "windows", "wait"),
    "silence",
}
"""Fields of labels that are durations in microseconds, if they are integers."""
_COUNTS = {"grouping: size"}
"""Places of such a name that are numbers of rows."""
_CALL = re.compile(r"([A-Za-z_]\w*)\((.*)\)(?:<[^<>]*>)?", re.DOTALL)
_NOTHING = "not set"
_PAIR = 2


def changed(name: str, before: object, now: object) -> str:
    """Describe a change of a setting."""
    was, is_now = ("were", "are") if name.endswith("s") else ("was", "is")
    return f"{name} {was} {_words(name, before)}, {is_now} now {_words(name, now)}"


def changed_operators(before: list[str], now: list[str]) -> Iterator[str]:
    """Describe each change of the operators, given their labels."""
    if len(before) != len(now):
        yield f"operators were {_told_all(before)}, are now {_told_all(now)}"
        return
    for one, other in zip(before, now, strict=True):
        yield from _differences(one, other, "operator")


def _words(name: str, value: Any) -> str:  # noqa: ANN401
    if isinstance(value, list):
        return ", ".join(_words(name, each) for each in value) or _NOTHING
    if value is None:
        return _NOTHING
    if name in _SETTINGS and isinstance(value, int):
        return format_duration(value)
    return str(value)


def _differences(before: str, now: str, place: str, what: str = "") -> Iterator[str]:
    """Compare two parts of labels; `what` is a name that the user gave to this part."""
    if before == now:
        return
    ours, theirs = _fields(before), _fields(now)
    if ours and theirs and ours[0] == theirs[0] and ours[1] != theirs[1]:
        for name in dict.fromkeys([*ours[1], *theirs[1]]):
            was, is_now = ours[1].get(name, ""), theirs[1].get(name, "")
            yield from _differences(was, is_now, f"{what or ours[0]}: {name}")
        return
    if before[:1] == now[:1] == "[":
        one, other = _parts(before[1:-1]), _parts(now[1:-1])
        if len(one) == len(other):
            is_named = len(one) == _PAIR and one[0] == other[0] and one[0].startswith('"')
            what = one[0] if is_named else ""
            for was, is_now in zip(one, other, strict=True):
                yield from _differences(was, is_now, what or place, what)
            return
    if MARK.sub("", before) == MARK.sub("", now):
        yield f"{place}: the code or the version of {MARK.sub('', now)} has changed"
        return
    yield f"{place} was {_told(before, place)}, is now {_told(now, place)}"


def _told_all(labels: list[str]) -> str:
    return ", ".join(_told(label, "") for label in labels) or "none"


def _told(text: str, place: str) -> str:
    """Return a part of a label in words."""
    found = _fields(text)
    if found:
        name, fields = found
        told = {field: _told(part, f"{name}: {field}") for field, part in fields.items()}
        shown = [f"{field} {part}" for field, part in told.items()]
        return f"{name}({', '.join(shown if len(told) > 1 else told.values())})"
    if text.startswith("["):
        return ", ".join(_told(part, place) for part in _parts(text[1:-1]))
    is_duration = place.rpartition(" ")[2] in _DURATIONS and place not in _COUNTS
    if is_duration and re.fullmatch(r"-?\d+", text):
        return format_duration(int(text))
    return MARK.sub("", text) or _NOTHING


def _fields(text: str) -> tuple[str, dict[str, str]] | None:
    """Return the name of a labelled object in words, and its fields; None if it is none."""
    found = _CALL.fullmatch(text)
    if found is None:
        return None
    named = [part.partition("=") for part in _parts(found[2])]
    if not all(equals for _, equals, _ in named):
        return None
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", found[1]).lower()
    return words, {name: value for name, _, value in named}


def _parts(text: str) -> list[str]:
    """Split text at its commas, but not inside of brackets and quotes."""
    found, depth, begin = [], 0, 0
    for each in re.finditer(r'"(?:\\.|[^"\\])*"|[\[({<]|[\])}>]|, ', text):
        if each[0] == ", " and depth == 0:
            found.append(text[begin : each.start()])
            begin = each.end()
        depth += (each[0] in "[({<") - (each[0] in "])}>")
    return [*found, text[begin:]] if text else []

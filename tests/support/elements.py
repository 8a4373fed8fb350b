"""The elements of an HTML page."""

from __future__ import annotations

from html.parser import HTMLParser


class Elements(HTMLParser):
    """All elements of a page. Fails if elements are not properly nested."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def ids(self, tag: str) -> list[str | None]:
        return [attributes.get("id") for name, attributes in self.seen if name == tag]

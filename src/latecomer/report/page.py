"""The common part of all pages: one self-contained HTML file.

A page needs no network and no JavaScript, and its security policy makes the browser refuse to fetch
anything. Only the live page has a script, and the browser runs no other. A page follows the
reader's choice of light or dark, and can be printed. Its template is `page.html`. The numbers of
each figure are in a table beside it.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

_TEMPLATE = Path(__file__).with_name("page.html")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts; the first cell of each row is its heading."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page. Texts are plain; `choose`, `sections` and `controls` are HTML."""

    title: str
    headline: str
    choose: str
    notes: Iterable[str]
    sections: Iterable[str]
    footer: str
    controls: str = ""
    script: str = ""
    """JavaScript, which may fetch from the server that the page came from."""

    def render(self) -> str:
        """Return the page as HTML."""
        template = Template(_TEMPLATE.read_text(encoding="utf-8"))
        return template.substitute(
            title=escape(self.title),
            headline=escape(self.headline),
            recommendation=self.choose,
            notes="".join(f"<li>{escape(note)}</li>" for note in self.notes),
            sections="\n".join(self.sections),
            footer=escape(self.footer),
            controls=self.controls,
            policy=policy(self.script),
            script=f"<script>{self.script}</script>\n" if self.script else "",
        )

    def write(self, path: str | Path) -> Path:
        """Write the page as one file, and return its path."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.render(), encoding="utf-8")
        return target


def policy(script: str) -> str:
    """Return the security policy: no script, or this one, which may fetch from its own server."""
    said = "default-src 'none'; style-src 'unsafe-inline'"
    if not script:
        return said
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"{said}; script-src 'sha256-{digest}'; connect-src 'self'"


def section(heading: str, text: str, figure: str, table: Table, kind: str = "numbers") -> str:
    """Return a section with a heading, a text, and a figure beside its numbers."""
    drawn = f"<figure>{figure}</figure>" if figure else ""
    return (
        f"<section><h2>{escape(heading)}</h2><p>{escape(text)}</p>"
        f'<div class="pair">{drawn}{_table(heading, table, kind)}</div></section>'
    )


def legend(label: str, items: Iterable[tuple[str, str]]) -> str:
    """Return the legend of a figure, given the class and the meaning of each colour."""
    listed = "".join(f'<li><i class="{kind}"></i>{escape(text)}</li>' for kind, text in items)
    return f'<ul class="legend" aria-label="{escape(label)}"><li>{escape(label)}:</li>{listed}</ul>'


def _table(heading: str, table: Table, kind: str) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.head)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in table.rows
    )
    return (
        f'<table class="{kind}"><caption>{escape(heading)}: the numbers</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )

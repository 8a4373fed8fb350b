"""Check a page in a browser, if one is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


# Only a browser knows where elements are, so a copy of the page runs this script and reports them.
ASK = """
<script>
const say = (name, value) => document.body.setAttribute("data-" + name, value);
const svgs = [...document.querySelectorAll("svg")];
const inside = (text) => {
  const own = text.getBoundingClientRect(), frame = text.ownerSVGElement.getBoundingClientRect();
  return own.width > 0 && own.left >= frame.left - 1 && own.right <= frame.right + 1
    && own.top >= frame.top - 1 && own.bottom <= frame.bottom + 1;
};
const ticks = (svg) =>
  [...svg.querySelectorAll(".tick, .told, .label")].map(text => text.getBoundingClientRect());
const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
  && a.top < b.bottom - 3 && b.top < a.bottom - 3;
const clashes = (svg) => {
  const all = ticks(svg);
  return all.filter((a, i) => all.some((b, j) => j > i && overlap(a, b))).length;
};
say("tall", svgs.filter(svg => svg.getBoundingClientRect().height > 100).length);
say("drawn", svgs.filter(svg => [...svg.querySelectorAll("path.cell, path.bar, path.curve")]
  .some(path => path.getBBox().width > 5 && path.getBBox().height > 5)).length);
say("outside", [...document.querySelectorAll("svg text")].filter(t => !inside(t)).length);
say("clashes", svgs.map(clashes).reduce((a, b) => a + b, 0));
say("wide", document.documentElement.scrollWidth > window.innerWidth ? "too wide" : "fits");
</script>
"""


def browse(page: Path, profile: Path, *options: str) -> subprocess.CompletedProcess[str]:
    assert CHROMIUM is not None
    return subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *options, page.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


def console(answer: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the console messages that the page caused, without those of the browser itself."""
    return re.findall(r"CONSOLE.*", answer.stderr)

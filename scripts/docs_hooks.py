"""What the site does differently from the pages as they are in the repository.

Pages link to files beside `docs/`, such as kept results and source code. The site does not have
these files, so their names stay and the links go. `tests/test_docs.py` checks that the files exist.
"""

import re

OUTSIDE = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)+(?:benchmarks|ops|src|tests|examples|[A-Z]+\.md)[^)]*\)"
)


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return the text of a page with links into the repository replaced by their text."""
    return OUTSIDE.sub(r"\1", markdown)

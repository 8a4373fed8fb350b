"""The differences between the site and the pages in the repository.

Pages link to files outside `docs/`, such as kept results and source code. The site does not have
these files, so it shows their names without links. `tests/test_docs.py` checks that the files
exist.
"""

import re

OUTSIDE = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)+(?:benchmarks|ops|src|tests|examples|[A-Z]+\.md)[^)]*\)"
)


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return the text of a page with links into the repository replaced by their text."""
    return OUTSIDE.sub(r"\1", markdown)

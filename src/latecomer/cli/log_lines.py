"""Show what the library logs while it works."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status


class _ToStatus(logging.Handler):
    """A handler that shows the last message beside a spinner."""

    def __init__(self, status: Status) -> None:
        super().__init__(logging.INFO)
        self._status = status

    def emit(self, record: logging.LogRecord) -> None:
        """Show one message."""
        self._status.update(record.getMessage().capitalize())


@contextmanager
def shown(console: Console) -> Iterator[None]:
    """Show the steps of the work inside; nothing is left on the screen."""
    logger = logging.getLogger("latecomer")
    before = logger.level
    with console.status("Starting") as status:
        handler = _ToStatus(status)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(before)

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from latecomer.cli.log_lines import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger("latecomer.somewhere.deep")


class Screen:
    """A console that records the texts of its spinner."""

    def __init__(self) -> None:
        self.said: list[str] = []

    @contextmanager
    def status(self, text: str) -> Iterator[Any]:
        self.said.append(text)
        yield self

    def update(self, text: str) -> None:
        self.said.append(text)


def test_log_messages_are_shown_with_a_capital_letter() -> None:
    screen = Screen()

    with shown(screen):  # type: ignore[arg-type]
        log.info("sorting %s rows", "1,000")
        log.debug("nobody needs to know")
        logging.getLogger("other").warning("not ours")

    assert screen.said == ["Starting", "Sorting 1,000 rows"]


def test_afterwards_the_log_is_as_it_was_also_after_a_failure() -> None:
    logger = logging.getLogger("latecomer")
    before = logger.level, [*logger.handlers]
    screen = Screen()

    with pytest.raises(OSError, match="disk full"), shown(screen):  # type: ignore[arg-type]
        raise OSError("disk full")
    log.warning("too late")

    assert (logger.level, logger.handlers) == before
    assert screen.said == ["Starting"]

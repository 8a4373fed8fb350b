"""The live page of running queries; thin. See `latecomer.live`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from latecomer.api.queries import status
from latecomer.api.query import Query
from latecomer.live.board import Board
from latecomer.live.server import LOOPBACK, Server
from latecomer.live.windows import Answers

if TYPE_CHECKING:
    from pathlib import PurePath

    from pyspark.sql.streaming import StreamingQuery


class Dashboard:
    """A live page that is being served. Leaving its `with` block stops it, not the queries."""

    def __init__(self, server: Server) -> None:
        server.start()
        self._server = server
        self.url = server.url
        """The address of the page, with the token if there is one."""

    def stop(self) -> None:
        """Stop serving the page."""
        self._server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Dashboard at {self.url}>"


def dashboard(
    *queries: StreamingQuery | Query,
    host: str = LOOPBACK,
    port: int = 0,
    token: str | None = None,
    answers: str | PurePath | None = None,
    value: str | None = None,
) -> Dashboard:
    """Serve a live page about running queries, in a thread of this process.

    It shows what `status` returns, over time: the delays of rows and what each wait would keep now,
    late rows, also by key, the watermark, waits and recalls, and early against final answers.

    Args:
        queries: The queries.
        host: The address to listen on. Only this machine can reach the default. On an address that
            others can reach, a token is needed, and is part of the `url` of the result.
        port: The port; 0 takes a free one.
        token: The token that browsers must send; by default one is generated if it is needed.
        answers: The directory of the output "ready", on this machine, to show early against final
            answers of windows with several waits.
        value: The column of that output to add up for each window: a count or a sum. By default
            the only integer column.

    Returns:
        The page, which is served until `stop()`, or until the process ends.

    Raises:
        OptionError: The address cannot be bound.
    """
    shown = None if answers is None else Answers(str(answers), value)
    board = Board(lambda: [status(query).to_dict() for query in queries])
    return Dashboard(Server(board, host=host, port=port, token=token, answers=shown))

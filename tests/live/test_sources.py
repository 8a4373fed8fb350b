from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest

from latecomer import OptionError
from latecomer.live.sources import source_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANSWERS = {
    "/metrics": 'latecomer_held_rows{query="orders"} 68\n',
    "/status.json": '[{"query": "page"}]',
    "/others": "python_info 1\n",
}


class Endpoint(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path in ANSWERS else 404)
        self.end_headers()
        self.wfile.write(ANSWERS.get(self.path, "").encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_all_targets_are_one_source(address: str, tmp_path: Path) -> None:
    checkpoint = tmp_path / "returns"
    (checkpoint / "offsets").mkdir(parents=True)
    log = tmp_path / "log"
    log.write_text("")

    source = source_of([f"{address}/metrics", f"{address}/status.json", str(checkpoint), str(log)])

    assert [status["query"] for status in source()] == ["orders", "page", "returns"]


def test_an_endpoint_that_has_nothing_of_ours_or_does_not_answer_is_named(address: str) -> None:
    with pytest.raises(OptionError, match="/others has no metrics of Latecomer"):
        source_of([f"{address}/others"])()
    with pytest.raises(OptionError, match="/missing cannot be read"):
        source_of([f"{address}/missing"])()
    with pytest.raises(OptionError, match=r"cannot be read: .*refused"):
        source_of(["http://127.0.0.1:9/metrics"])()


def test_an_invalid_target_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="is neither an address, nor a checkpoint, nor"):
        source_of([str(tmp_path)])
    with pytest.raises(OptionError, match="file:///etc/passwd"):
        source_of(["file:///etc/passwd"])

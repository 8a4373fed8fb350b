"""A real Prometheus scrapes a query, and an alert fires. For the rules see tests/test_ops.py."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

import latecomer as lc
from latecomer.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]
SHORTER = {"10m": "6s", "5m": "1s", "15m": "600s", "30m": "600s", "1h": "600s"}


def test_a_port_that_is_taken_is_refused(spark: SparkSession) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OptionError, match=rf"127.0.0.1:{port}: .*\nHint: pass another port"):
            lc.listen(spark, port=port)


def test_prometheus_scrapes_a_query_and_an_alert_fires_when_it_falls_behind(
    spark: SparkSession, tmp_path: Path
) -> None:
    if shutil.which("prometheus") is None:
        pytest.skip("Prometheus is not installed: apt-get install prometheus")
    # Times hardly advance while rows come, as in a backlog of old rows.
    old = int(1_000 * (time.time() - 3_600))
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10)
    source = source.option("startTimestamp", old).option("advanceMillisPerBatch", 1)
    rows = source.load().selectExpr("timestamp AS time", "value")
    stream = lc.disordered(rows, time="time").sort(wait="1 second", late="drop")
    with lc.listen(spark, port=0) as listening:
        query = stream.start(
            {"ready": lambda *_: None},
            checkpoint=f"{tmp_path}/checkpoint",
            trigger={"processingTime": "1 second"},
            name="sales",
        )
        try:
            with prometheus(tmp_path, listening.address) as ask:
                expression = 'latecomer_rows_total{query="sales",output="in"}'
                scraped = waited_for(lambda: ask(f"query?query={expression}")["result"])
                assert float(scraped[0]["value"][1]) > 0
                alerts = waited_for(lambda: firing(ask("alerts")["alerts"]))
        finally:
            query.stop()
    assert alerts == {("LatecomerFallsBehind", "sales")}
    assert [each.query for each in listening.statuses()] == ["sales"]


def firing(alerts: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {
        (each["labels"]["alertname"], each["labels"]["query"])
        for each in alerts
        if each["state"] == "firing"
    }


def waited_for(found: Any) -> Any:  # noqa: ANN401
    """Repeat a query until it returns something, for at most ten minutes."""
    for _ in range(1_200):
        if answer := found():
            return answer
        time.sleep(0.5)
    raise AssertionError("nothing in ten minutes")


class prometheus:  # noqa: N801 - used like a function
    """A Prometheus server that scrapes an address every half second."""

    def __init__(self, directory: Path, address: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.directory = directory
        rules = (ROOT / "ops/alerts.yml").read_text()
        for long, short in SHORTER.items():
            rules = rules.replace(f"[{long}]", f"[{short}]").replace(
                f"for: {long}", f"for: {short}"
            )
        (directory / "alerts.yml").write_text(rules)
        target = address.removeprefix("http://").removesuffix("/metrics")
        (directory / "prometheus.yml").write_text(
            "global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}\n"
            "rule_files: [alerts.yml]\n"
            "scrape_configs:\n"
            f"  - {{job_name: latecomer, static_configs: [{{targets: ['{target}']}}]}}\n"
        )

    def __enter__(self) -> Any:  # noqa: ANN401
        self.process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={self.directory}/prometheus.yml",
                f"--storage.tsdb.path={self.directory}/data",
                f"--web.listen-address=127.0.0.1:{self.port}",
            ],
            stderr=subprocess.DEVNULL,
        )
        return self.ask

    def ask(self, what: str) -> Any:  # noqa: ANN401
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/api/v1/{what}") as answer:
                return json.load(answer)["data"]
        except URLError:
            return {"result": [], "alerts": []}

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()

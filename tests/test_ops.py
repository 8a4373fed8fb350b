"""The dashboard and the alerts of ops/ use only metrics that are exported."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from latecomer.hosts.metrics import METRICS, PREFIX

OPS = Path(__file__).parents[1] / "ops"
DOCS = Path(__file__).parents[1] / "docs/operate.md"


@pytest.mark.parametrize("name", ["grafana.json", "alerts.yml", "alerts_test.yml"])
def test_every_metric_that_is_named_is_exported(name: str) -> None:
    named = set(re.findall(r"\blatecomer_\w+", (OPS / name).read_text()))

    assert {each.removesuffix("_bucket") for each in named} <= {
        f"{PREFIX}{each}" for each in METRICS
    }
    assert len(named) > 5


def test_every_metric_and_every_alert_is_documented() -> None:
    page = DOCS.read_text()
    alerts = re.findall(r"alert: (\w+)", (OPS / "alerts.yml").read_text())

    assert [name for name in METRICS if f"`{PREFIX}{name}`" not in page] == []
    assert [name for name in alerts if f"`{name}`" not in page] == []


def test_every_alert_has_a_case_in_which_it_fires() -> None:
    alerts = set(re.findall(r"alert: (\w+)", (OPS / "alerts.yml").read_text()))

    assert set(re.findall(r"alertname: (\w+)", (OPS / "alerts_test.yml").read_text())) == alerts


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    panels = json.loads((OPS / "grafana.json").read_text())["panels"]
    cells = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in panels
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]

    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


@pytest.mark.parametrize(
    "command", [["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]]
)
def test_the_rules_are_sound_and_fire_when_they_should(command: list[str]) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    answer = subprocess.run(
        ["promtool", *command], cwd=OPS, capture_output=True, text=True, check=False
    )

    assert answer.returncode == 0, answer.stdout + answer.stderr

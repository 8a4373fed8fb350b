from pathlib import Path

import pytest
from typer.testing import CliRunner

from latecomer.cli import app
from latecomer.errors import OptionError


@pytest.mark.parametrize(
    "command",
    [
        ["profile", "in.csv", "--time", "at"],
        ["what-if", "in.csv", "--time", "at", "--wait", "1s"],
        ["demo"],
    ],
    ids=lambda command: command[0],
)
def test_a_page_is_refused_where_it_cannot_be_meant_before_any_work(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("at\n2024-05-01T06:14:59.123Z\n")

    answer = CliRunner().invoke(app, [*command, "--html", "mistyped/page.html"])

    assert isinstance(answer.exception, OptionError)
    assert "there is no directory" in str(answer.exception)
    assert not answer.stdout
    if "in.csv" in command:
        over = CliRunner().invoke(app, [*command, "--html", "./in.csv"])
        assert isinstance(over.exception, OptionError)
        assert "would be written over what is read" in str(over.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
    assert Path("in.csv").read_text().startswith("at")

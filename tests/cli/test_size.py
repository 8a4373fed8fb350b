import json

from typer.testing import CliRunner

from latecomer.cli import app


def test_the_plan_is_printed_in_words_and_as_json() -> None:
    asked = ["size", "--rate", "200000", "--wait", "1h"]
    words = CliRunner().invoke(app, asked)
    numbers = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)

    assert "72 GB  of state" in words.stdout
    assert numbers["held"] == 720_000_000

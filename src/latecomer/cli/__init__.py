"""The command `latecomer`.

A command is a function, in a file of its own name, whose signature and docstring typer turns into
options and help; it is plugged in by one line at the end of this one. It imports what it needs
when it runs, so that `latecomer --help` stays quick. What a user can get wrong is raised as a
`LatecomerError`, and printed without a traceback.
"""

import sys
from typing import Annotated

import typer

from latecomer import __version__
from latecomer.cli.bench import bench
from latecomer.cli.demo import demo
from latecomer.cli.disorder import disorder
from latecomer.cli.profile import profile
from latecomer.cli.replay import replay
from latecomer.cli.serve import serve
from latecomer.cli.simulate import simulate
from latecomer.cli.size import size
from latecomer.cli.watch import watch
from latecomer.cli.what_if import what_if
from latecomer.errors import LatecomerError

app = typer.Typer(
    name="latecomer",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line of this process."""
    try:
        app(prog_name="latecomer")
    except (LatecomerError, OSError) as error:
        print(f"latecomer: {error}", file=sys.stderr)  # noqa: T201  plain, whatever it contains
        sys.exit(1)


def _show_version(asked: bool) -> None:  # noqa: FBT001  typer passes it so
    if asked:
        typer.echo(f"latecomer {__version__}")
        raise typer.Exit


@app.callback()
def latecomer(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Get right answers from event streams that arrive out of order, on Apache Spark."""


app.command()(bench)
app.command()(demo)
app.command()(disorder)
app.command()(profile)
app.command()(replay)
app.command()(serve)
app.command()(simulate)
app.command()(size)
app.command()(watch)
app.command("what-if")(what_if)

"""Run the command `latecomer` in this process, since starting Python takes seconds."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest.mock import patch

from latecomer.cli import main


class Answer(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def latecomer(*arguments: object) -> Answer:
    out, err = io.StringIO(), io.StringIO()
    argv = ["latecomer", *map(str, arguments)]
    # typer installs a hook for exceptions, which must not outlive the command.
    hook = patch.object(sys, "excepthook", sys.excepthook)
    with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", argv), hook:
        try:
            main()
            code = 0
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    return Answer(code, out.getvalue(), err.getvalue())

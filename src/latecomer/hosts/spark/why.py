"""The reason why a query has failed: the error that was raised first.

Spark wraps an error of a Python worker, or of a function on the driver, into a message of a hundred
lines: tracebacks of two languages, the plan of the query, and somewhere in between the reason.

    [STREAM_FAILED] Query [id = …] terminated with exception: … Traceback (most recent call last):
      File "…/bucket.py", line 75, in _run
      …
    latecomer.errors.LateRowError: a row came 5 seconds behind the watermark; …
    Hint: wait longer, or let such rows come out of late_df() with late="divert".
    while running Sort in bucket 1 of 4
        at org.apache.spark…

The error found there is raised with its own class. It is a `StreamingQueryException` too, so that
programs that catch Spark's own go on working. An error of others stays as it is, and its reason is
added as a note, which Python prints last.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.errors import StreamingQueryException

from latecomer import errors
from latecomer.errors import LatecomerError, QueryFailedError

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

_END = r"(?=\n\s*\n|\n\s+at |\n\s*SQLSTATE|\n\s+File |\nTraceback|\n=+ |\nDuring |\nThe above |\Z)"
_OURS = re.compile(rf"latecomer\.errors\.(\w+): (.*?){_END}", re.DOTALL)
_OTHERS = re.compile(
    r"^\s*(?:: |Caused by: )?(?:[\w$]+\.)*([\w$]*(?:Error|Exception)): (.+)$", re.MULTILINE
)
_SQLSTATE = re.compile(r"(?: SQLSTATE: \w+)+;?\s*$")
_WRAPPERS = ("Py4JException", "Py4JJavaError", "PythonException", "StreamingQueryException")

_ANY = "this was not raised by Latecomer; query.exception() has all of it."
_HINTS = {
    "No space left on device": "make room, and start the query again with the same checkpoint; it "
    "runs the micro-batch again.",
    "failed to connect back": "the machine was too busy to start a Python process within Spark's "
    "ten seconds; start the query again with the same checkpoint.",
    "spark.driver.maxResultSize": "start the query again with the same checkpoint, in a session "
    "with a higher spark.driver.maxResultSize. Then let the source read less in a micro-batch, or "
    'use start(states="buckets") with a new checkpoint: the driver then collects no states.',
}
"""What to do about failures of the machine, by a part of what Spark says."""


def why(query: StreamingQuery) -> LatecomerError | None:
    """Return the error that made a query fail; None if it has not failed."""
    error = query.exception()
    return None if error is None else found_in(error) or _other(error)


def explained(wait: Callable[..., Any], *arguments: object) -> Any:
    """Call a method of Spark's that waits for a query; raise an error of ours inside Spark's."""
    try:
        return wait(*arguments)
    except Exception as error:
        if (found := found_in(error)) is not None:
            # Without the cause, which hides the reason; `exception()` has it.
            raise found from None
        error.add_note(str(_other(error)))
        raise


def found_in(error: BaseException) -> LatecomerError | None:
    """Return the Latecomer error inside an error of Spark; None if there is none."""
    found = _OURS.findall(str(error))
    if not found:
        return None
    name, message = found[-1]
    kind = getattr(errors, name, LatecomerError)
    return _as_both(kind, message.strip(), error)


def _as_both(kind: type[LatecomerError], message: str, error: BaseException) -> LatecomerError:
    """Return an error of both a Latecomer class and Spark's, with the attributes of Spark's."""
    namespace = {
        "__str__": lambda self: str(self.args[0]),
        "__module__": kind.__module__,
        "__doc__": kind.__doc__,
    }
    both: Any = type(kind.__name__, (kind, StreamingQueryException), namespace)
    # That of a MemoryError, which a HeldLimitError is, refuses classes with a second base.
    found = Exception.__new__(both, message)
    found.args = (message,)
    found.__dict__.update(vars(error))
    return found


def _other(error: BaseException) -> LatecomerError:
    """Return an error with the line that names the reason, if that is not a Latecomer error."""
    named = [each for each in _OTHERS.findall(str(error)) if each[0] not in _WRAPPERS]
    first = ": ".join(named[-1]) if named else str(error).partition("\n")[0]
    first = _SQLSTATE.sub("", first).strip()
    hint = next((hint for reason, hint in _HINTS.items() if reason in first), _ANY)
    return QueryFailedError(f"{first}\nHint: {hint}")

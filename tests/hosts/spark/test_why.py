from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

import latecomer as lc
from latecomer import errors
from latecomer.api.query import Query
from latecomer.errors import LatecomerError
from latecomer.hosts.spark.why import found_in

IN_A_WORKER = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted:
Traceback (most recent call last):
  File "worker.py", line 3, in main
    raise LateRowError(
latecomer.errors.LateRowError: a row came 5 seconds behind the watermark; such rows: 1.
Hint: wait longer.
while running Sort in bucket 1 of 2

\tat org.apache.spark.api.python.BasePythonRunner.run(PythonRunner.scala:1)
=== Streaming Query ===
"""
ON_THE_DRIVER = """[STREAM_FAILED] py4j.Py4JException: An exception was raised by the Python Proxy:
Traceback (most recent call last):
  File "clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
  File "sink.py", line 9, in keep
ZeroDivisionError: division by zero

\tat py4j.Protocol.getReturnValue(Protocol.java:476)
"""

FULL_DISK = """[STREAM_FAILED] Query terminated: [FOREACH_BATCH_USER_FUNCTION_ERROR] An\
 error occurred. Reason: An exception was raised by the Python Proxy. Return Message: Traceback:
  File "protocol.py", line 327, in get_return_value
    raise Py4JJavaError(
py4j.protocol.Py4JJavaError: An error occurred while calling o80.parquet.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing. SQLSTATE: 58030
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailed(QueryExecutionErrors.scala:1)
Caused by: org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device
\t... 29 more
Caused by: java.io.IOException: No space left on device
\t... 41 more

 SQLSTATE: 39000 SQLSTATE: XXKST
=== Streaming Query ===
"""


def failed(message: str) -> Any:  # noqa: ANN401
    error = StreamingQueryException(message)

    def wait(_timeout: float | None = None) -> bool:
        raise error

    return SimpleNamespace(exception=lambda: error, awaitTermination=wait, processAllAvailable=wait)


def _is_ours(each: object) -> bool:
    return isinstance(each, type) and issubclass(each, LatecomerError)


def test_an_error_of_a_worker_is_raised_as_what_it_was() -> None:
    query = Query(failed(IN_A_WORKER), None, "checkpoint")  # type: ignore[arg-type]

    for wait in (query.awaitTermination, query.processAllAvailable):
        with pytest.raises(lc.LateRowError) as raised:
            wait()
        assert isinstance(raised.value, StreamingQueryException)
        assert str(raised.value).splitlines() == [
            "a row came 5 seconds behind the watermark; such rows: 1.",
            "Hint: wait longer.",
            "while running Sort in bucket 1 of 2",
        ]
        assert raised.value.__suppress_context__
    why = lc.why(query)
    assert isinstance(why, lc.LateRowError)
    assert why.args == raised.value.args


@pytest.mark.parametrize("kind", [each for each in vars(errors).values() if _is_ours(each)])
def test_every_error_of_ours_can_be_raised_as_what_it_was(kind: type[LatecomerError]) -> None:
    told = IN_A_WORKER.replace("errors.LateRowError", f"errors.{kind.__name__}")

    found = found_in(StreamingQueryException(told))

    assert isinstance(found, kind)
    assert isinstance(found, StreamingQueryException)
    assert str(found).startswith("a row came 5 seconds")


def test_any_other_error_stays_sparks_and_is_explained_in_one_line() -> None:
    query = Query(failed(ON_THE_DRIVER), None, "checkpoint")  # type: ignore[arg-type]

    with pytest.raises(StreamingQueryException) as raised:
        query.awaitTermination(5)
    assert not isinstance(raised.value, lc.LatecomerError)
    why = lc.why(query.spark)
    assert isinstance(why, lc.QueryFailedError)
    assert str(why).startswith("ZeroDivisionError: division by zero\nHint: this was not raised by")


def test_a_failure_in_java_is_reported_by_its_deepest_cause_and_what_to_do() -> None:
    query = Query(failed(FULL_DISK), None, "checkpoint")  # type: ignore[arg-type]

    with pytest.raises(StreamingQueryException) as raised:
        query.awaitTermination()

    # Python prints notes after the message.
    (note,) = raised.value.__notes__
    assert note.splitlines() == [
        "IOException: No space left on device",
        (
            "Hint: make room, and start the query again with the same checkpoint; it runs the "
            "micro-batch again."
        ),
    ]


def test_states_that_are_too_large_for_the_driver_are_reported_with_what_to_do() -> None:
    size = "1 tasks (5.1 MiB) is bigger than spark.driver.maxResultSize (300.0 KiB)"
    query = failed(f"org.apache.spark.SparkException: Job aborted: {size}\n\tat a")

    first, hint = str(lc.why(query)).splitlines()

    assert first == f"SparkException: Job aborted: {size}"
    assert 'start(states="buckets") with a new checkpoint' in hint


def test_a_state_of_sql_is_no_part_of_a_reason() -> None:
    query = failed("SparkRuntimeException: [USER_RAISED_EXCEPTION] boom SQLSTATE: P0001\n\tat a")
    alone = failed("Python worker failed to connect back. SQLSTATE: XXKST\n=== Streaming Query ===")

    assert str(lc.why(query)).startswith("SparkRuntimeException: [USER_RAISED_EXCEPTION] boom\n")
    assert str(lc.why(alone)).startswith("Python worker failed to connect back.\nHint: the machine")


def test_an_error_without_a_reason_is_shown_by_its_first_line() -> None:
    found = lc.why(failed("the cluster is gone\nmore"))

    assert str(found).partition("\n")[0] == "the cluster is gone"


def test_a_query_that_has_not_failed_has_no_reason() -> None:
    assert lc.why(SimpleNamespace(exception=lambda: None)) is None  # type: ignore[arg-type]
    assert found_in(ValueError("nothing")) is None

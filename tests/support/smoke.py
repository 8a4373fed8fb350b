"""One test for each kind of query, run on the oldest supported Spark as well.

If a test has several parameters, only the first one is run. `make lakes` runs these tests, and all
tests of Kafka, Delta and Iceberg. It collects only the modules that `python -m tests.support.smoke`
prints, because importing all test modules takes more than ten seconds in each process.
"""

import re
from pathlib import Path

_HOST = "tests/hosts/spark"
_SAME = "test_streaming_gives_the_rows_of_the_local_host_batch_by_batch"

TESTS = (
    "tests/test_docs.py::test_the_twelve_lines_of_the_readme_answer_early_and_finally",
    f"{_HOST}/test_query.py::{_SAME}",
    f"{_HOST}/test_query.py::test_batch_gives_the_complete_answer_whatever_the_wait",
    f"{_HOST}/test_aggregate.py::test_streaming_gives_the_answers_of_the_local_host_batch_by_batch",
    f"{_HOST}/test_distinct.py::{_SAME}",
    f"{_HOST}/test_temporal.py::{_SAME}",
    f"{_HOST}/test_sessions.py::test_sessions_are_those_of_spark",
    f"{_HOST}/test_patterns.py::test_a_stream_gives_what_the_local_host_gives",
    f"{_HOST}/test_optimistic.py::test_a_stream_gives_what_the_local_host_gives",
    f"{_HOST}/test_window_join.py::{_SAME}",
    f"{_HOST}/test_recall.py::test_both_hosts_give_the_same_rows_batch_by_batch",
    f"{_HOST}/test_flush.py::test_what_is_held_at_the_end_comes_out",
    (
        f"{_HOST}/driver/test_query.py::"
        "test_each_micro_batch_gives_what_the_local_host_gives_by_the_next"
    ),
    f"{_HOST}/upsert/test_sink.py::test_refined_rows_replace_early_ones",
    (
        f"{_HOST}/profile/test_live.py::"
        "test_arrivals_decide_what_is_out_of_order_and_bad_clocks_are_set_aside"
    ),
    f"{_HOST}/profile/test_frame.py::test_a_dataframe_is_profiled_like_the_table_of_its_rows",
    "tests/api/test_progressive.py::test_one_step_is_enough",
    "tests/generate/injection/test_spark.py::test_integers_and_dates",
)


_FIXTURES = re.compile(r"\b(lake|broker)\b")
_ROOT = Path(__file__).parents[2]


def modules() -> list[str]:
    """Return the paths of modules that have one of these tests, or use the fixtures of lakes."""
    named = {test.partition("::")[0] for test in TESTS}
    paths = {str(path.relative_to(_ROOT)): path for path in (_ROOT / "tests").rglob("test_*.py")}
    return sorted(name for name, path in paths.items() if name in named or uses_lakes(path))


def uses_lakes(module: Path) -> bool:
    """Return True if a test module names a fixture of Kafka, Delta or Iceberg."""
    return _FIXTURES.search(module.read_text()) is not None


def chosen(names: list[str]) -> list[int]:
    """Return the positions of these tests among the names of all collected tests."""
    first = {name.partition("[")[0]: at for at, name in reversed([*enumerate(names)])}
    return [first[test] for test in TESTS if test in first]


if __name__ == "__main__":
    print(*modules())

"""The project's own vectors, and the shared ones if they are present."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conformance.runner import Host, Report, Vector, run_file

OWN = Path(__file__).with_name("vectors.json")
OWN_TEMPORAL = Path(__file__).with_name("vectors_temporal.json")
SHARED = Path(__file__).parents[3] / "shared" / "vectors"


def shared(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip("the shared conformance vectors are not beside this checkout")
    return path


def test_our_own_vectors_pass_on_the_local_host() -> None:
    report = run_file(OWN, "local")

    assert (report.passed, report.failures, report.not_applicable) == (19, [], {})


def test_our_own_temporal_vectors_pass_on_the_local_host() -> None:
    report = run_file(OWN_TEMPORAL, "local")

    assert (report.passed, report.failures, report.not_applicable) == (22, [], {})


def test_a_sample_of_our_own_vectors_passes_on_spark(spark: SparkSession) -> None:
    # A micro-batch takes half a second, so each way to run vectors on Spark gets one vector.
    sample = {
        "sort_two_runs",
        "wait_the_clock_comes_first",
        "windows_integer_keys",
        "stateful_sums_with_a_tombstone_and_a_watermark",
        "mswj_one_out_of_order",
        "pipeline_one_row_in_time_and_one_too_late",
        "generator_with_arrivals",
    }
    report = run_file(OWN, "spark", only=lambda v: v["name"] in sample)

    assert (report.passed, report.failures, report.skipped) == (len(sample), [], [])


@pytest.mark.parametrize(
    ("name", "passed"), [("core.json", 134), ("joins.json", 50), ("trill.json", 107)]
)
def test_the_shared_vectors_pass_on_the_local_host(name: str, passed: int) -> None:
    path = shared(name)
    report = run_file(path, "local")

    assert report.failures == []
    assert report.passed == passed
    count = len(json.loads(path.read_text())["vectors"])
    assert report.passed + report.not_applicable.total() == count


def test_a_sample_of_our_own_temporal_vectors_passes_on_spark(spark: SparkSession) -> None:
    sample = {
        "sum_by_sensor",
        "on_duty_and_not_on_a_break",
        "cut_out_chopped_and_stitched",
        "late_rows_are_dropped",
    }
    report = run_file(OWN_TEMPORAL, "spark", only=lambda v: v["name"] in sample)

    assert (report.passed, report.failures, report.skipped) == (len(sample), [], [])


def test_a_sample_of_the_shared_temporal_vectors_passes_on_spark(spark: SparkSession) -> None:
    sample = {
        "compound_sum_and_count",
        "left_outer_join_with_post_predicate",
        "guide_clip_by_self_per_core",
        "nested_group_apply_tumbling_average",
        "multicast_three_filters_union",
        "session_group_sum_max_split",
        "detect_an_bn_no_overlap",
    }
    report = run_file(shared("trill.json"), "spark", only=lambda v: v["name"] in sample)

    assert (report.passed, report.failures, report.skipped) == (len(sample), [], [])


@pytest.mark.parametrize("host", ["local"])
def test_a_wrong_answer_is_reported_with_what_was_expected(tmp_path: Path, host: Host) -> None:
    vectors: list[Vector] = json.loads(OWN.read_text())["vectors"]
    vectors[0]["expected"]["held"] = [99]
    (tmp_path / "wrong.json").write_text(json.dumps({"vectors": vectors[:1]}))

    report: Report = run_file(tmp_path / "wrong.json", host)
    assert "FAILED sort_two_runs" in report.text()
    assert "expected [99]" in report.text()
    assert report.text().endswith("0 passed, 1 failed, 0 not applicable")


def test_a_vector_that_is_not_applicable_is_named_with_its_reason(tmp_path: Path) -> None:
    vector: Vector = json.loads(OWN_TEMPORAL.read_text())["vectors"][0]
    vector["query"] = [{"op": "sing"}]
    (tmp_path / "sing.json").write_text(json.dumps({"vectors": [vector]}))

    report = run_file(tmp_path / "sing.json", "local")
    assert report.text(verbose=True).splitlines() == [
        "not applicable: sum_by_sensor: temporal: no operator does what sing does",
        "0 passed, 0 failed, 1 not applicable",
    ]

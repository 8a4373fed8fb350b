"""Every code block that a page marks as runnable runs."""

import json
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import latecomer as lc
from latecomer.demo.flights import read_flights

ROOT = Path(__file__).parents[1]
RUNNABLE = re.compile(r"<!-- run -->\n```python\n(.*?)```", re.DOTALL)
ANY_PYTHON = re.compile(r"```python\n")
WRITTEN = ROOT / "docs/benchmarks.md"
"""By a program, and without code: `tests/benchmarks/test_book.py` is about it."""
LAKES = {"kafka.md", "tables.md"}
"""Pages whose code needs Kafka, Delta or Iceberg."""
WITHOUT_CODE = {"compatibility.md"}
PAGES = [ROOT / "README.md", *sorted({*(ROOT / "docs").glob("*.md")} - {WRITTEN})]


def blocks(page: Path) -> list[str]:
    return RUNNABLE.findall(page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_all_python_on_a_page_is_marked_to_run(page: Path) -> None:
    assert len(ANY_PYTHON.findall(page.read_text())) == len(blocks(page))
    assert bool(blocks(page)) != (page.name in WITHOUT_CODE)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES[1:] if page.name not in LAKES | WITHOUT_CODE],
    ids=lambda page: page.name,
)
def test_the_code_of_a_page_runs(page: Path, spark: SparkSession) -> None:
    run(page, spark=spark)


@pytest.mark.parametrize("name", sorted(LAKES))
def test_the_code_of_a_page_about_lakes_runs(name: str, lake: SparkSession, broker: str) -> None:
    run(ROOT / "docs" / name, spark=lake, servers=broker)


def run(page: Path, **names: object) -> None:
    for code in blocks(page):
        exec(compile(code, page.name, "exec"), names)  # noqa: S102 - our own pages


def test_the_twelve_lines_of_the_readme_answer_early_and_finally(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    (code,) = blocks(PAGES[0])
    assert len(list(filter(str.strip, code.splitlines()))) == 12

    # Its paths are relative to the directory in which Spark was started.
    code = code.replace('"out/', f'"{tmp_path}/out/').replace('("orders"', f'("{tmp_path}/orders"')
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own page
    for query in spark.streams.active:
        query.stop()

    assert capsys.readouterr().out.strip() in PAGES[0].read_text()
    late = lc.read(spark, f"{tmp_path}/out/late").collect()
    assert [row.time.minute for row in late] == [2]


@pytest.mark.parametrize(
    "page",
    [*PAGES, WRITTEN, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"],
    ids=lambda page: page.name,
)
def test_links_and_named_files_exist(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (page.parent / target).exists(), target
    for name in re.findall(r"`((?:tests|benchmarks|hosts|operators|kernels)/[a-z_/]+\.py)`", text):
        assert (ROOT / name).exists() or (ROOT / "src/latecomer" / name).exists(), name


def test_the_map_of_the_code_names_every_module() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for path in (ROOT / "src/latecomer").rglob("*.py"):
        is_listed = path.name in text or f"{path.parent.name}/" in text
        assert is_listed or path.name.startswith("__"), path


def test_the_profile_on_its_page_is_that_of_the_flights() -> None:
    page = (ROOT / "docs/profile.md").read_text()
    profile = lc.profile(read_flights(), time="departed", arrival="landed")

    assert [line for line in str(profile).splitlines() if line not in page] == []


def test_the_figures_of_progressive_answers_are_those_of_the_benchmark() -> None:
    lines = (ROOT / "benchmarks/results/progressive.jsonl").read_text().splitlines()
    cells = [json.loads(line) for line in lines if '"cell": "by id"' in line]
    text = " ".join((ROOT / "docs/progressive.md").read_text().split())

    for cell in cells:
        assert f"after {cell['first_over_spark']} of" in text
        assert f"after {cell['total_over_spark']}" in text


def test_the_figures_of_recall_are_those_of_the_benchmark() -> None:
    lines = (ROOT / "benchmarks/results/recall.jsonl").read_text().splitlines()
    cells = [json.loads(line) for line in lines]
    cells = [cell for cell in cells if "within" not in cell]
    text = (ROOT / "docs/recall.md").read_text()

    for cell in cells:
        if cell["recall_asked"] >= 0.99:
            had = f"{cell['query']} | {cell['recall_asked']} | {cell['settled']:.4f} | "
            assert (
                f"{had}{seconds(cell['average_wait'])} | {seconds(cell['best_fixed_wait'])}" in text
            )
    over = [cell["over_fixed"] for cell in cells]
    assert f"take up to {max(over)} times as long" in text


def seconds(amount: float) -> str:
    return f"{amount:,.3g} s" if amount < 1_000 else f"{amount / 3_600:.3g} h"

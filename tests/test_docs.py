"""Every code block that a page marks as runnable runs."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import latecomer as lc
from latecomer.cli import app
from latecomer.demo.flights import read_flights

ROOT = Path(__file__).parents[1]
RUNNABLE = re.compile(r"<!-- run -->\n```python\n(.*?)```", re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
ANY_PYTHON = re.compile(r"```python\n")
WRITTEN = ROOT / "docs/benchmarks.md"
"""The page that a program writes, without code. `tests/benchmarks/test_book.py` tests it."""
LAKES = {"kafka.md", "tables.md"}
"""Pages whose code needs Kafka, Delta or Iceberg."""
NEEDS_SPARK = re.compile(r"\bspark\b|what_if")
PAGES = [ROOT / "README.md", *sorted({*(ROOT / "docs").rglob("*.md")} - {WRITTEN})]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def blocks(page: Path) -> list[str]:
    return RUNNABLE.findall(page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_all_python_on_a_page_is_marked_to_run(page: Path) -> None:
    assert len(ANY_PYTHON.findall(page.read_text())) == len(blocks(page))


def needs_spark(page: Path) -> bool:
    return any(map(NEEDS_SPARK.search, blocks(page)))


WITH_CODE = [page for page in PAGES[1:] if page.name not in LAKES and blocks(page)]


@pytest.mark.parametrize(
    "page", [*filter(needs_spark, WITH_CODE)], ids=lambda page: str(page.relative_to(ROOT / "docs"))
)
def test_the_code_of_a_page_runs(page: Path, spark: SparkSession) -> None:
    run(page, spark=spark)


@pytest.mark.parametrize(
    "page",
    [page for page in WITH_CODE if not needs_spark(page)],
    ids=lambda page: str(page.relative_to(ROOT / "docs")),
)
def test_the_code_of_a_page_runs_without_spark(page: Path) -> None:
    run(page)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_it_shows(
    notebook: Path, capsys: pytest.CaptureFixture
) -> None:
    names: dict[str, object] = {}
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), notebook.name, "exec"), names)  # noqa: S102
            shown = "".join(line for output in cell["outputs"] for line in output["text"])
            assert capsys.readouterr().out == shown


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


def pages_of(nav: list[str | dict[str, Any]]) -> Iterator[str]:
    for entry in nav:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        yield from [value] if isinstance(value, str) else pages_of(value)


def test_every_page_is_in_the_navigation_of_the_site_once() -> None:
    docs = ROOT / "docs"
    listed = list(pages_of(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))

    assert sorted(listed) == sorted(str(page.relative_to(docs)) for page in docs.rglob("*.md"))


def test_links_to_headings_resolve() -> None:
    pages = [*PAGES, WRITTEN]
    headings = {page: {*map(anchor, HEADING.findall(page.read_text()))} for page in pages}
    for page in pages:
        links = re.findall(r"\]\((?!http)([^)#\s]*)#([^)]+)\)", page.read_text())
        for target, heading in links:
            there = (page.parent / target).resolve() if target else page
            if there in headings and not heading.startswith("latecomer."):
                assert heading in headings[there], f"{page.name}: {target}#{heading}"


def anchor(heading: str) -> str:
    """Return the anchor that the site gives to a heading."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


CONCEPTS = sorted({*(ROOT / "docs/concepts").glob("*.md")} - {ROOT / "docs/concepts/index.md"})


@pytest.mark.parametrize("page", CONCEPTS, ids=lambda page: page.stem)
def test_a_concept_has_a_figure_that_is_described_and_has_dark_colours(page: Path) -> None:
    ((described, name),) = re.findall(r"^!\[([^]]{40,})\]\((.*)\)$", page.read_text(), re.MULTILINE)
    figure = ET.parse(page.with_name(name)).getroot()  # noqa: S314 - our own file
    parts = {each.tag.rpartition("}")[2]: each.text for each in figure}

    assert name == f"{page.stem}.svg"
    assert described.endswith(".")
    assert figure.get("role") == "img"
    assert all(parts[each] for each in ("title", "desc"))
    assert "prefers-color-scheme: dark" in parts["style"]


def test_llms_txt_names_every_page() -> None:
    text = (ROOT / "docs/llms.txt").read_text()

    assert [
        page.name for page in PAGES[1:] if str(page.relative_to(ROOT / "docs")) not in text
    ] == []


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join(page.read_text() for page in (ROOT / "docs/reference").glob("*.md"))
    named = {*re.findall(r"^::: latecomer\.(\w+)", text, re.MULTILINE)}
    errors = {name for name in lc.__all__ if name.endswith(("Error", "Warning"))}

    assert {*lc.__all__} - named - errors == {"__version__"}


def test_every_command_is_on_the_page_of_the_command_line() -> None:
    text = (ROOT / "docs/reference/cli.md").read_text()

    for command in app.registered_commands:
        name = command.name or command.callback.__name__
        assert f"`latecomer {name}" in text, name


def test_the_map_of_the_code_names_every_module() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for path in (ROOT / "src/latecomer").rglob("*.py"):
        is_listed = path.name in text or f"{path.parent.name}/" in text
        assert is_listed or path.name.startswith("__"), path


def test_the_profile_on_its_page_is_that_of_the_flights() -> None:
    page = (ROOT / "docs/profile.md").read_text()
    profile = lc.profile(read_flights(), time="departed", arrival="landed")

    assert [line for line in str(profile).splitlines() if line not in page] == []


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


def seconds(amount: float) -> str:
    return f"{amount:,.3g} s" if amount < 1_000 else f"{amount / 3_600:.3g} h"


def test_the_plans_on_the_page_of_scale_are_what_the_command_prints() -> None:
    page = (ROOT / "docs/scale.md").read_text()
    asked = re.findall(r"\$ latecomer (size .*)\n((?:.+\n)+?)```", page)

    assert len(asked) == 2
    for arguments, shown in asked:
        assert CliRunner().invoke(app, arguments.split()).stdout == shown

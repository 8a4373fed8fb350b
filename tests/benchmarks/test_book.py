"""The benchmark book equals what the kept results give, and the runner keeps complete lines."""

import json
import re
import sys
from argparse import ArgumentParser
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import benchmarks
from benchmarks.book import claims, runner, tables
from benchmarks.book.__main__ import main
from benchmarks.book.claims import README, Claim
from benchmarks.book.page import PAGE, written
from benchmarks.book.registry import BENCHMARKS, MOST_MINUTES, Benchmark
from benchmarks.book.results import KEPT, Line, Results, read
from benchmarks.book.rows import Row, table
from benchmarks.book.runner import FailedError, run
from benchmarks.book.stamp import ROOT, stamped

FOLDER = Path(benchmarks.__path__[0])
TIMES = re.compile(r"(\d+(?:\.\d+)?)×")


def runnable() -> set[str]:
    return {path.stem for path in FOLDER.glob("*.py") if '"--json"' in path.read_text()}


def test_the_book_is_what_the_results_give() -> None:
    book = written(Results())
    folder = PAGE.with_suffix("")

    # `python -m benchmarks.book --write` writes both again.
    assert PAGE.read_text() == book.text
    assert {path.stem: path.read_text() for path in folder.glob("*.svg")} == book.figures


def test_a_figure_is_a_file_of_its_own_in_light_and_dark() -> None:
    for svg in written(Results()).figures.values():
        assert ET.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - our own
        assert "prefers-color-scheme: dark" in svg


def test_the_registry_has_every_benchmark_and_no_other() -> None:
    assert runnable() == {each.name for each in BENCHMARKS}
    assert {path.stem for path in KEPT.glob("*.jsonl")} <= {each.name for each in BENCHMARKS}


class UnderstoodError(Exception):
    """The benchmark has parsed its arguments."""


CALLS = [(each.name, call) for each in BENCHMARKS for call in (*each.full, *each.quick)]


@pytest.mark.parametrize(("name", "call"), CALLS, ids=str)
def test_a_benchmark_accepts_its_registered_arguments(
    name: str, call: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    read_them = ArgumentParser.parse_args

    def stop(parser: ArgumentParser) -> None:
        read_them(parser)
        raise UnderstoodError

    monkeypatch.setattr(ArgumentParser, "parse_args", stop)
    monkeypatch.setattr(sys, "argv", [name, *call, "--json"])

    with pytest.raises(UnderstoodError):
        import_module(f"benchmarks.{name}").main()


def test_a_full_run_is_expected_to_take_two_hours_at_most() -> None:
    assert sum(each.minutes for each in BENCHMARKS) <= MOST_MINUTES


def test_tables_of_other_pages_are_what_the_results_give() -> None:
    pages = tables.pages()
    marked = {
        name for page in pages for name in re.findall("<!-- bench: (.*?) -->", page.read_text())
    }

    assert marked == set(tables.TABLES)
    # `python -m benchmarks.book --write` writes them again.
    for page in pages:
        assert tables.filled(page.read_text(), Results()) == page.read_text(), page.name


def test_a_marked_table_is_written_again_and_the_text_around_it_stays() -> None:
    text = "before\n<!-- bench: peers -->\nold\n<!-- end of bench -->\nafter\n"

    lines = tables.filled(text, Results()).splitlines()

    assert lines[:3] == [
        "before",
        "<!-- bench: peers -->",
        "| | seconds of work | seconds to start |",
    ]
    assert lines[-2:] == ["<!-- end of bench -->", "after"]
    assert "old" not in lines


def test_numbers_are_written_into_words_that_are_broken_into_lines(tmp_path: Path) -> None:
    (tmp_path / "waits.jsonl").write_text('{"over": 2.5}\n')
    claim = Claim("what", "these process {}× the rows", "waits", "over")

    assert claim.written("Today these\nprocess 1.43× the\nrows.", Results(tmp_path)) == (
        "Today these\nprocess 2.5× the\nrows."
    )


def test_the_largest_number_counts_for_up_to(tmp_path: Path) -> None:
    (tmp_path / "waits.jsonl").write_text('{"over": 2.5}\n{"over": 3.5}\n{"over": 1.5}\n')
    claim = Claim("what", "up to {} times", "waits", "over", is_most=True)

    assert claim.said(Results(tmp_path)) == "up to 3.5 times"


@pytest.mark.parametrize("page", claims.PAGES)
def test_the_claims_of_pages_are_in_the_results(page: str) -> None:
    text = " ".join((ROOT / page).read_text().split())
    said = [claim.said(Results()) for claim in claims.PAGES[page]]

    assert [words for words in said if words not in text] == []


def test_the_readme_claims_nothing_else() -> None:
    said = TIMES.findall((ROOT / "README.md").read_text())
    proved = [n for claim in README for n in TIMES.findall(claim.said(Results()))]

    assert set(said) <= {*proved, "1"}


PAGES = [ROOT / "README.md", *sorted({*(ROOT / "docs").glob("*.md")} - {PAGE})]
NAMED = re.compile(r"(?:python -m benchmarks\.|benchmarks/results/|latecomer bench )([a-z_]+)")
CODE = re.compile(r"```.*?```|`[^`\n]*=[^`\n]*`|Spark \d\.\d( to \d\.\d)?", re.DOTALL)
NUMBER = re.compile(
    r"(?<![\d.,])(?:\d+\.(?P<decimals>\d+)(?![\d.]*\d)|\d{1,3}(?:,\d{3})+(?![\d,]*\d)|\d+(?=×))"
)
"""Numbers with decimals, with thousands separators, or factors. Others are rarely results."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_numbers_beside_the_name_of_a_benchmark_are_in_its_results(page: Path) -> None:
    for section in CODE.sub("", page.read_text()).split("\n## "):
        kept = [n for name in set(NAMED.findall(section)) for n in numbers(KEPT / f"{name}.jsonl")]
        said = list(NUMBER.finditer(section)) if kept else []

        unknown = [each[0] for each in said if not is_rounded(each, kept)]

        assert unknown == [], section.splitlines()[0]


def numbers(path: Path) -> list[float]:
    lines = read(path) if path.exists() else []
    # Versions of packages are no results.
    texts = (json.dumps({**line.values, "run": None}, separators=("; ", ": ")) for line in lines)
    found = (n for text in texts for n in re.findall(r"-?\d[\d,]*(?:\.\d+)?", text))
    return [float(n.replace(",", "")) for n in found]


def is_rounded(said: re.Match[str], kept: list[float]) -> bool:
    """Return True if a result rounds to this number, as it is, in percent, or in hours."""
    digits = said[0].replace(",", "")
    zeros = len(digits) - len(digits.rstrip("0")) if "," in said[0] else 0
    unit = 10.0 ** (-len(said["decimals"]) if said["decimals"] else zeros)
    return any(
        abs(each - float(digits)) <= 0.5001 * unit
        for number in kept
        for each in (number, 100 * number, number / 3_600)
    )


def test_a_worse_value_is_a_loss() -> None:
    assert Row("speed", 0.9, 1.0).is_loss
    assert Row("time", 1.1, 1.0, better="less").is_loss
    assert not Row("nearly the same", 1.04, 1.0, better="same").is_loss
    assert Row("not the same", 1.06, 1.0, better="same").is_loss
    assert not Row("unknown", None, 1.0).is_loss


def test_a_row_has_the_origin_of_both_values() -> None:
    line = Line("sort", 7, {"ratio": 0.5})
    row = Row("sort", line["ratio"], 2.0, "×", bound="up to", line=line, place="Table I")

    told = list(table([row]))[-1]

    assert told == (
        "| sort | up to 2× (Table I) | 0.5× | 0.25 | "
        "loss, [line 7](../benchmarks/results/sort.jsonl#L7) |"
    )


def test_of_equal_lines_the_last_counts(tmp_path: Path) -> None:
    lines = [{"cell": "a", "ratio": 1}, {"cell": "b"}, {"cell": "a", "ratio": 2}]
    (tmp_path / "sort.jsonl").write_text("\n".join(map(json.dumps, lines)))

    found = Results(tmp_path).last("sort", cell="a")

    assert found is not None
    assert (found.number, found["ratio"]) == (3, 2)


def test_a_line_carries_machine_commit_and_arguments() -> None:
    line = stamped({"ratio": 2}, ("--rows", "5"), 1.23)

    assert line["ratio"] == 2
    assert line["run"]["arguments"] == "--rows 5"
    assert line["run"]["seconds"] == 1.2
    assert {"cpu", "cores", "memory_gb", "python", "java", "pyspark", "numba"} <= set(
        line["run"]["machine"]
    )
    assert {"commit", "clean"} <= set(line["run"])


def test_a_failing_benchmark_leaves_the_kept_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(name: str, arguments: tuple[str, ...]) -> object:
        yield {"ratio": 1}
        raise FailedError("no memory")

    monkeypatch.setattr(runner, "printed", broken)
    (tmp_path / "sort.jsonl").write_text('{"ratio": 3}\n')

    outcome = run(Benchmark("sort", 1), tmp_path)

    assert outcome.error == "no memory"
    assert (tmp_path / "sort.jsonl").read_text() == '{"ratio": 3}\n'
    assert json.loads((tmp_path / "sort.jsonl.part").read_text())["ratio"] == 1


def test_lines_are_kept_with_how_long_all_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "printed", lambda *asked: iter([{"asked": asked}]))

    outcome = run(Benchmark("sort", 1, full=(("--a",), ("--b",))), tmp_path)

    kept = Results(tmp_path).lines("sort")
    assert (outcome.error, outcome.lines) == ("", 2)
    assert [line["run.arguments"] for line in kept] == ["--a", "--b"]
    assert all(line["run.seconds"] >= 0 for line in kept)
    assert Results(tmp_path).minutes("sort") is not None


def test_a_benchmark_is_run_in_a_process_of_its_own() -> None:
    # The process is stopped when its output is no longer read.
    line = next(runner.printed("kernel_start", ("--times", "1")))

    assert line["start"] == "numba"


def test_the_error_of_a_failing_process_has_its_last_output() -> None:
    with pytest.raises(FailedError, match="unrecognized arguments: --nonsense"):
        list(runner.printed("kernel_start", ("--nonsense",)))


def test_a_list_has_what_each_repeats(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["latecomer bench", "--list", "--json"])

    assert main() == 0

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    repeats = {line["name"]: line["repeats"] for line in lines}
    assert repeats["simulated_logs"] == "Table I of the Impatience paper"
    assert all(line["minutes"] > 0 for line in lines)

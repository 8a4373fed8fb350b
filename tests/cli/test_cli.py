from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from latecomer import __version__, demo
from latecomer.cli import main
from latecomer.cli.bench import checkout
from latecomer.errors import MissingPackageError


def latecomer(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "latecomer", *arguments], capture_output=True, text=True, check=False
    )


def test_help_lists_the_commands() -> None:
    answer = latecomer("--help")

    assert answer.returncode == 0
    assert "Usage: latecomer [OPTIONS] COMMAND" in answer.stdout
    assert "demo" in answer.stdout


def test_help_brings_in_neither_spark_nor_numba() -> None:
    program = (
        "import sys; from latecomer.cli import main; sys.argv = ['latecomer', '--help']\n"
        "try: main()\n"
        "finally: print(*sorted({'pyspark', 'py4j', 'numba'} & {*sys.modules}), file=sys.stderr)"
    )

    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "Usage" in answer.stdout
    assert answer.stderr.split() == []


def test_the_version_is_that_of_the_package() -> None:
    answer = latecomer("--version")

    assert (answer.returncode, answer.stdout) == (0, f"latecomer {__version__}\n")
    assert version("latecomer") == __version__


def test_an_unknown_command_is_named_and_refused() -> None:
    answer = latecomer("dmeo")

    assert answer.returncode == 2
    assert "No such command 'dmeo'" in answer.stderr


def test_a_mistake_is_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_console: object, **_options: object) -> None:
        raise MissingPackageError('no flights.\nHint: pip install "latecomer[demo]".')

    monkeypatch.setattr(demo, "run", run)
    monkeypatch.setattr(sys, "argv", ["latecomer", "demo"])
    # typer puts a hook of its own here; it is to be gone after the test.
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)

    with pytest.raises(SystemExit) as exit_:
        main()

    assert exit_.value.code == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err == 'latecomer: no flights.\nHint: pip install "latecomer[demo]".\n'


def test_the_demo_is_told_what_to_stream_and_where_to_draw(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: dict[str, object] = {}
    monkeypatch.setattr(demo, "run", lambda _console, **options: told.update(options))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    options = ["--hours", "48", "--every", "30 minutes", "--html", "out.html"]
    monkeypatch.setattr(sys, "argv", ["latecomer", "demo", *options])

    with pytest.raises(SystemExit) as exit_:
        main()

    assert exit_.value.code == 0
    assert told == {"hours": 48, "every": "30 minutes", "html": Path("out.html")}


def test_the_demo_refuses_micro_batches_without_a_length_before_it_starts_spark() -> None:
    answer = latecomer("demo", "--every", "0 seconds")

    assert answer.returncode == 1
    assert answer.stderr == "latecomer: every must be longer than 0 seconds; got '0 seconds'.\n"


def test_disorder_writes_a_file_and_reports(tmp_path: Path) -> None:
    times = pa.array(range(2_000), pa.timestamp("s", "UTC"))
    pq.write_table(pa.table({"at": times}), tmp_path / "in.parquet")
    options = ["--time", "at", "--fraction", "0.3", "--delay", "uniform:1s:60s", "--seed", "7"]

    answer = latecomer("disorder", f"{tmp_path}/in.parquet", f"{tmp_path}/out.csv", *options)
    as_json = latecomer(
        "disorder", f"{tmp_path}/in.parquet", f"{tmp_path}/out.parquet", *options, "--json"
    )

    assert answer.stdout.startswith("2,000 rows, 30.0")
    assert json.loads(as_json.stdout)["fraction"] == pytest.approx(0.3, abs=0.002)
    written = pq.read_table(tmp_path / "out.parquet")
    assert written.column_names == ["at", "arrival"]
    assert (tmp_path / "out.csv").read_text().count("\n") == 2_001


def test_disorder_takes_patterns(tmp_path: Path) -> None:
    rows = pa.table(
        {
            "at": pa.array(range(2_000), pa.timestamp("s", "UTC")),
            "device": [f"d{i % 10}" for i in range(2_000)],
        }
    )
    pq.write_table(rows, tmp_path / "in.parquet")

    answer = latecomer(
        *("disorder", f"{tmp_path}/in.parquet", f"{tmp_path}/out.parquet"),
        *("--time", "at", "--fraction", "0.3", "--delay", "constant:30s"),
        *(
            "--drift",
            "1h:2",
            "--outage",
            "10min:2min:device=d3",
            "--outage",
            "20min:2min:device:0.2",
        ),
        *("--override", "device=d4@0.5:uniform:1h:2h", "--override", "device=d5:constant:1min"),
    )

    assert answer.returncode == 0, answer.stderr
    out = pq.read_table(tmp_path / "out.parquet").to_pandas()
    delays = (out["arrival"] - out["at"]).dt.total_seconds().groupby(out["device"]).max()
    assert 3_600 <= delays["d4"] <= 14_400
    assert delays["d3"] >= 100


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--drift", "1h"], "cannot read --drift '1h'.\nHint: write PERIOD:FACTOR"),
        (["--outage", "1h"], "cannot read --outage '1h'.\nHint: write AT:LASTS"),
        (["--override", "d4:constant:1s"], "cannot read --override 'd4:constant:1s'"),
        (["--fraction", "3"], "fraction must be from 0 to 1; got 3.0"),
        (["--delay", "sometimes"], "unknown distribution 'sometimes'"),
        (["--time", "when"], 'no column "when"; the rows have "at"'),
    ],
)
def test_disorder_refuses_what_it_cannot_read(
    tmp_path: Path, option: list[str], message: str
) -> None:
    pq.write_table(pa.table({"at": pa.array([1], pa.timestamp("s"))}), tmp_path / "in.parquet")
    options = ["--time", "at", "--fraction", "0", "--delay", "constant:1s", *option]

    answer = latecomer("disorder", f"{tmp_path}/in.parquet", f"{tmp_path}/out.csv", *options)

    assert (answer.returncode, answer.stdout) == (1, "")
    assert f"latecomer: {message}" in answer.stderr


def test_disorder_says_why_the_fraction_was_missed(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("at\n2020-01-01 00:00:00\n2020-01-01 01:00:00\n")

    answer = latecomer(
        *("disorder", f"{tmp_path}/in.csv", f"{tmp_path}/out.csv"),
        *("--time", "at", "--fraction", "0.5", "--delay", "constant:1s"),
    )

    assert answer.returncode == 0
    assert "there are only 2 rows" in " ".join(answer.stderr.split())


def test_disorder_from_csv_to_csv_leaves_other_columns_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("at,zip,note\n2020-01-01 00:00:00,00017,NA\n")

    latecomer(
        *("disorder", f"{tmp_path}/in.csv", f"{tmp_path}/out.csv"),
        *("--time", "at", "--fraction", "0", "--delay", "constant:1s"),
    )

    assert '"00017","NA"' in (tmp_path / "out.csv").read_text()


def test_disorder_on_spark_gives_what_it_gives_without(tmp_path: Path) -> None:
    times = pa.array(range(2_000), pa.timestamp("s", "UTC"))
    pq.write_table(pa.table({"at": times}), tmp_path / "in.parquet")
    options = ["--time", "at", "--fraction", "0.3", "--delay", "uniform:1s:60s"]

    for target, *more in ([f"{tmp_path}/a.parquet"], [f"{tmp_path}/b.parquet", "--spark"]):
        answer = latecomer("disorder", f"{tmp_path}/in.parquet", target, *options, *more)
        assert answer.returncode == 0, answer.stderr

    arrivals = [pq.read_table(tmp_path / name)["arrival"] for name in ("a.parquet", "b.parquet")]
    assert arrivals[0].equals(arrivals[1])


def test_targets_are_checked_before_any_work(tmp_path: Path) -> None:
    options = ["--time", "at", "--fraction", "0", "--delay", "constant:1s"]

    wrong = latecomer("disorder", "nowhere.csv", f"{tmp_path}/out.txt", *options)
    taken = latecomer("disorder", "nowhere.csv", f"{tmp_path}", *options, "--spark")

    assert "Hint: name a file .parquet or .csv." in wrong.stderr
    assert "has to be a new directory" in taken.stderr


@pytest.mark.parametrize("model", ["cloud", "android", "synthetic"])
def test_simulate_writes_and_measures_a_stream(tmp_path: Path, model: str) -> None:
    answer = latecomer("simulate", model, f"{tmp_path}/out.parquet", "--rows", "20000")

    assert "20,000 rows" in answer.stdout
    assert "interleaved" in answer.stdout
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == 20_000


@pytest.mark.parametrize(
    ("option", "message"),
    [(["--seed", "-1"], "seed must be 0 or more"), (["--amount", "inf"], "amount")],
)
def test_simulate_refuses_what_makes_no_stream(
    tmp_path: Path, option: list[str], message: str
) -> None:
    answer = latecomer("simulate", "synthetic", f"{tmp_path}/out.parquet", *option)

    assert answer.returncode == 1
    assert answer.stderr.startswith("latecomer: ")
    assert message in answer.stderr


def test_simulate_writes_a_file_for_each_stream_of_a_join(tmp_path: Path) -> None:
    latecomer("simulate", "join4", f"{tmp_path}/out", "--minutes", "1")

    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        f"S{number}.parquet" for number in (1, 2, 3, 4)
    ]


def test_bench_needs_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(MissingPackageError, match="is not in a checkout"):
        checkout(tmp_path / "lib/site-packages/latecomer/cli/bench.py")


def test_bench_lists_the_benchmarks_of_this_checkout() -> None:
    answer = latecomer("bench", "--list")

    assert answer.returncode == 0
    assert "Table I of the Impatience paper" in answer.stdout

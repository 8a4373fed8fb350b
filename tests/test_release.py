"""A release can be installed into an empty environment, and the README runs there."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import latecomer as lc
from tests.support.short_lived import JAVA_OPTIONS

ROOT = Path(__file__).parents[1]
UV = shutil.which("uv") or str(ROOT / ".bootstrap/bin/uv")
TWELVE_LINES = re.compile(r"<!-- run -->\n```python\n(.*?)```\n\n```\n(.*?)```", re.DOTALL)
NO_INDEX = re.compile(r"(?i)failed to fetch|connect error|network|timed? ?out|dns")


def uv(*arguments: str, **environment: str) -> str:
    """Run uv with the certificates of the machine, which a proxy may need."""
    clean = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    for certificates in ((), ("--system-certs",)):
        command = [UV, *certificates, *arguments]
        made = subprocess.run(
            command, cwd=ROOT, env=clean | environment, capture_output=True, text=True, check=False
        )
        if made.returncode == 0:
            return made.stdout
    if NO_INDEX.search(made.stderr):
        pytest.skip(f"the package index cannot be reached: {made.stderr[-200:]}")
    raise AssertionError(made.stderr)


@pytest.mark.jvm
@pytest.mark.skipif(not Path(UV).exists(), reason="needs uv: `make setup` installs one")
def test_wheel_and_sdist_install_into_an_empty_environment_and_the_readme_runs(
    tmp_path: Path,
) -> None:
    # By default uv builds the wheel from the sdist, so this covers both.
    uv("build", "--out-dir", str(tmp_path / "dist"))
    (sdist,) = (tmp_path / "dist").glob(f"latecomer-{lc.__version__}.tar.gz")
    (wheel,) = (tmp_path / "dist").glob(f"latecomer-{lc.__version__}-py3-none-any.whl")
    with tarfile.open(sdist) as files:
        assert f"latecomer-{lc.__version__}/LICENSE" in files.getnames()
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
    assert {"latecomer/py.typed", "latecomer/report/page.html"} <= {*names}
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]

    locked = tmp_path / "locked.txt"
    locked.write_text(uv("export", "--frozen", "--no-hashes", "--no-emit-project", "--all-extras"))
    empty = tmp_path / "empty"
    uv("venv", str(empty), "--python", sys.executable)
    python = str(empty / "bin/python")
    uv(
        "pip",
        "install",
        "--python",
        python,
        "-c",
        str(locked),
        f"latecomer[spark,java] @ {wheel.as_uri()}",
    )

    (found,) = TWELVE_LINES.findall((ROOT / "README.md").read_text())
    code, shown = found
    (tmp_path / "twelve.py").write_text(code)
    # The process sees only the new environment, without this project's sources and packages.
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    own["JDK_JAVA_OPTIONS"] = JAVA_OPTIONS
    ran = subprocess.run(
        [python, "twelve.py"], cwd=tmp_path, env=own, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert shown.strip() in ran.stdout

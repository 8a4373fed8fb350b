"""Print the path of the uv that sets up the project, and install uv if necessary.

A uv on PATH is used if it is new enough. Otherwise one is installed into `.bootstrap`, a separate
virtual environment. That needs pip, and Debian's Python comes without pip and without `ensurepip`.
So these ways are tried in turn:

    1. the pip that `ensurepip` puts into a new environment
    2. the pip of this Python, pointed at the new environment
    3. the pip wheel from the package index, which runs without being installed
    4. python3-venv from apt, if we are root, and then 1 again

Only the standard library is used here. Everything but the path goes to stderr.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
import venv
from pathlib import Path

HOME = Path(".bootstrap").absolute()
PYTHON = HOME / "bin" / "python"
UV = HOME / "bin" / "uv"
OLDEST_UV = (0, 9)
REQUIREMENT = "uv>=0.9,<1"


def main() -> None:
    """Find or install uv, and print where it is."""
    for candidate in (shutil.which("uv"), UV):
        if candidate and is_new_enough(candidate):
            print(candidate)
            return
    for way in (with_ensurepip, with_our_pip, with_a_downloaded_pip, with_apt):
        try:
            way()
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            say(f"uv could not be installed {way.__doc__.rstrip('.').lower()}: {error}")
            continue
        print(UV)
        return
    sys.exit(
        "uv, which installs the dependencies, is not here and could not be installed.\n"
        "Hint: apt-get install python3-venv, or install uv (https://docs.astral.sh/uv) on PATH."
    )


def with_ensurepip() -> None:
    """With the pip of `ensurepip`."""
    if importlib.util.find_spec("ensurepip") is None:
        raise ValueError("this Python has no ensurepip")
    make_environment(with_pip=True)
    install_uv(PYTHON, "-m", "pip")


def with_our_pip() -> None:
    """With the pip of this Python."""
    if importlib.util.find_spec("pip") is None:
        raise ValueError("this Python has no pip")
    make_environment(with_pip=False)
    install_uv(sys.executable, "-m", "pip", "--python", PYTHON)


def with_a_downloaded_pip() -> None:
    """With a pip from the package index."""
    make_environment(with_pip=False)
    with tempfile.TemporaryDirectory() as directory:
        install_uv(PYTHON, download_pip(Path(directory)) / "pip")


def with_apt() -> None:
    """After installing python3-venv."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise ValueError("that takes root and apt-get")
    package = f"python3.{sys.version_info.minor}-venv"
    say(f"installing the system package {package}")
    run("apt-get", "update", "-qq")
    run("apt-get", "install", "-y", "-qq", "--no-install-recommends", package)
    importlib.invalidate_caches()
    with_ensurepip()


def make_environment(*, with_pip: bool) -> None:
    """Create `.bootstrap` in another process, so that its output goes to stderr."""
    options = ["--clear"] if with_pip else ["--clear", "--without-pip"]
    run(sys.executable, "-m", venv.__name__, *options, HOME)


def install_uv(*pip: str | Path) -> None:
    """Install uv with the pip that this command runs."""
    run(*pip, "install", "--quiet", "--disable-pip-version-check", REQUIREMENT)


def download_pip(directory: Path) -> Path:
    """Fetch the newest pip wheel from the package index, and check its hash."""
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/pip/"
    links = re.findall(
        r"<a ([^>]*)>\s*(pip-([\d.]+)-py3-none-any\.whl)\s*</a>", fetch(index).decode()
    )
    attributes, name, _ = max(
        (link for link in links if "data-yanked" not in link[0]),
        key=lambda link: [int(number) for number in link[2].split(".")],
    )
    address, _, published = re.search(r'href="([^"]+)"', attributes)[1].partition("#sha256=")
    content = fetch(urllib.parse.urljoin(index, address))
    if hashlib.sha256(content).hexdigest() != published:
        raise ValueError("the pip wheel does not match its published hash")
    wheel = directory / name
    wheel.write_bytes(content)
    return wheel


def fetch(address: str) -> bytes:
    """Return the content of an address."""
    with urllib.request.urlopen(address, timeout=60) as answer:
        return answer.read()


def is_new_enough(uv: str | Path) -> bool:
    """Return True if this uv runs and can read the project's lock file."""
    try:
        answer = subprocess.run([uv, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    release = re.match(r"uv (\d+)\.(\d+)", answer.stdout)
    return release is not None and (int(release[1]), int(release[2])) >= OLDEST_UV


def run(*command: str | Path) -> None:
    """Run a command, with its output on stderr."""
    subprocess.run(command, check=True, stdout=sys.stderr)


def say(message: str) -> None:
    """Print progress for the user."""
    print(message, file=sys.stderr)


if __name__ == "__main__":
    main()

"""Print how much disk space an installed Latecomer takes, by package and by extra.

    python scripts/install_size.py

It reads the environment that it runs in: the packages that Latecomer and its extras require,
directly or indirectly, and the sizes of their files. A package is counted once: with Latecomer if
that requires it, otherwise with the first extra that does.
"""

from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement

EXTRAS = ("spark", "java", "demo", "connect", "metrics")
SHOWN = 6
"""Number of packages that are named; the others are added up."""


def required(name: str, extra: str, found: dict[str, Distribution]) -> None:
    """Add a package and everything that it requires to the found packages."""
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return
    key = package.metadata["Name"].lower()
    if key in found and not extra:
        return
    found.setdefault(key, package)
    for text in package.requires or ():
        need = Requirement(text)
        if need.marker is None or need.marker.evaluate({"extra": extra}):
            required(need.name, "", found)


def megabytes(package: Distribution) -> float:
    """Return the size of the files of a package."""
    paths = (package.locate_file(file) for file in package.files or ())
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def main() -> None:
    """Print a table in Markdown."""
    base: dict[str, Distribution] = {}
    required("latecomer", "", base)
    sizes = sorted(((megabytes(each), name) for name, each in base.items()), reverse=True)
    print("| what | MB |\n| --- | ---: |")
    for size, name in sizes[:SHOWN]:
        print(f"| {name} | {size:,.0f} |")
    rest = sizes[SHOWN:]
    print(f"| {len(rest)} other packages | {sum(size for size, _ in rest):,.0f} |")
    print(f"| **all of `latecomer`** | **{sum(size for size, _ in sizes):,.0f}** |")
    for extra in EXTRAS:
        more = dict(base)
        required("latecomer", extra, more)
        size = sum(megabytes(each) for name, each in more.items() if name not in base)
        print(f"| extra `{extra}` | {size:,.0f} |")


if __name__ == "__main__":
    main()

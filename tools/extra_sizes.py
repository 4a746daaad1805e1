"""Print what each extra of Parcade adds to the core install on disk, from the packages that are installed here.

.venv/bin/python tools/extra_sizes.py                # every extra
.venv/bin/python tools/extra_sizes.py wandb mlflow   # single packages

A package counts with all files that pip has recorded of it, and with all packages that it needs and that the core
install does not have. Packages that are not installed are named: their size is not in the sum.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement

CORE = ""


def plain(name: str) -> str:
    """Return a package's name as every index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needs(found: Distribution, extras: set[str]) -> list[Requirement]:
    """Return what a package needs on this machine, with these of its extras."""
    wanted = [Requirement(text) for text in found.requires or []]
    contexts = [{"extra": extra} for extra in extras | {CORE}]
    return [one for one in wanted if not one.marker or any(one.marker.evaluate(context) for context in contexts)]


def closure(root: str, extras: set[str]) -> tuple[set[str], set[str]]:
    """Return the names of all packages that ``root`` brings along: those that are installed here, and the others."""
    present: set[str] = set()
    missing: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = [(plain(root), extra) for extra in extras | {CORE}]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            found = distribution(name)
        except PackageNotFoundError:
            missing.add(name)
            continue
        present.add(name)
        for one in needs(found, {extra}):
            waiting += [(plain(one.name), more) for more in one.extras | {CORE}]
    return present, missing


def size_mb(name: str) -> float:
    """Return what a package's files take, in MB."""
    files = [file.locate() for file in distribution(name).files or []]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6  # type: ignore[attr-defined]


def line(label: str, root: str, extras: set[str], core: set[str]) -> str:
    """Return what ``root`` with these extras adds to the core install."""
    present, missing = closure(root, extras)
    added = present - core
    absent = f"; not installed here: {', '.join(sorted(missing))}" if missing else ""
    return f"{label:10} {sum(map(size_mb, added)):7.0f} MB, {len(added)} packages{absent}"


def main(packages: list[str]) -> None:
    """Print a line for each package that is named, else for each extra."""
    core, _ = closure("parcade", set())
    for name in packages:
        print(line(name, name, set(), core))
    if packages:
        return
    print(f"{line('core', 'parcade', set(), set())}; torch {size_mb('torch'):.0f} MB")
    for extra in sorted(distribution("parcade").metadata.get_all("Provides-Extra") or []):
        print(line(extra, "parcade", {extra}, core))


if __name__ == "__main__":
    main(sys.argv[1:])

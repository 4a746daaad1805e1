"""Run pytest; a few tests that fail beside others run once more, alone, and are named.

The tests start emulators, browsers and Ray nodes, several at once on two cores. One of thousands may meet a deadline
there that it keeps when it has the machine for itself. A test that fails alone too has failed.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

MOST = 5  # more failures than this are no accident of a busy machine
FAILED = 1  # pytest's exit code for failed tests

ALONE = ["-n0"]


def main(words: list[str]) -> int:
    """Run pytest with these words; return its exit code, or that of the second try."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "failed"
        code = pytest(words, {"PARCADE_FAILED_TESTS": str(file)})
        failed = file.read_text().splitlines() if file.exists() else []
    if code != FAILED or not 0 < len(failed) <= MOST:
        return code
    print(f"\n{len(failed)} failed beside others; once more, alone:", *failed, sep="\n  ", flush=True)
    code = pytest([*ALONE, *failed], {})
    if code == 0:
        print("These failed beside others and passed alone:", *failed, sep="\n  ", flush=True)
    return code


def pytest(words: list[str], environment: dict[str, str]) -> int:
    """Run pytest in a process of its own; return its exit code."""
    return subprocess.run([sys.executable, "-m", "pytest", *words], env={**os.environ, **environment}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

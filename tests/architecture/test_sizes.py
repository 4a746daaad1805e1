"""No file of `src/parcade` is so long that it does more than one thing."""

from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "parcade"
MOST_LINES = 400


def long_files(most):
    lengths = {path.relative_to(SOURCE).as_posix(): len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    return {name: length for name, length in lengths.items() if length > most}


def test_no_file_is_longer_than_400_lines():
    assert long_files(MOST_LINES) == {}


def test_the_rule_sees_long_files():
    assert "errors.py" in long_files(20)

"""What was measured as a picture: bars in the terminal, and an SVG file."""

from __future__ import annotations

from html import escape
from pathlib import Path

from parcade.errors import SettingsError
from parcade.run.atomic import write_atomic
from parcade.tune.rows import Row
from parcade.tune.search import Found

WIDTH = 40  # characters of the longest bar
_EIGHTHS = " ▏▎▍▌▋▊▉"
_ROW, _LEFT, _BAR, _RIGHT = 26, 220, 420, 210  # pixels
_COLOURS = {"play": "#3b7dd8", "learn": "#e08a2e"}


def bars(found: Found) -> list[str]:
    """Return a line for each candidate: its speed as a bar; the choice is marked."""
    most = max(row.steps_per_s for row in found.rows)
    names = {id(row): label(row, found) for row in found.rows}
    width = max(map(len, names.values()))
    return [f"{names[id(row)]:<{width}}  {_bar(row.steps_per_s / most)}  {row.steps_per_s:,.0f}" for row in found.rows]


def label(row: Row, found: Found) -> str:
    """Return a candidate's name with what it is."""
    candidate = row.candidate
    notes = ["default"] if candidate == found.default.candidate else []
    notes += ["choice"] if candidate == found.choice.candidate else []
    name = f"{candidate.n_envs} x {candidate.n_workers} x {candidate.num_threads}"
    return f"{name} ({', '.join(notes)})" if notes else name


def _bar(share: float) -> str:
    """Return a bar of blocks and eighths of one.

    >>> _bar(0.5) == "█" * 20 + " " * 20
    True
    """
    whole, part = divmod(round(share * WIDTH * 8), 8)
    return f"{'█' * whole + (_EIGHTHS[part] if part else ''):<{WIDTH}}"


def check_plot(path: str) -> None:
    """Refuse a file that is no SVG, or that cannot be written, before anything is measured."""
    if Path(path).suffix != ".svg":
        raise SettingsError(f"--plot is {path!r}, wanted a file that ends in .svg")
    if not Path(path).absolute().parent.is_dir():
        raise SettingsError(f"--plot is {path!r}, but there is no folder {Path(path).parent}")


def write_plot(path: str, found: Found) -> None:
    """Write the bars as SVG: how long a step takes, playing and learning, and the speed beside it."""
    longest = max(row.play_us + row.learn_us for row in found.rows)
    parts = [part for at, row in enumerate(found.rows) for part in _drawn(at, row, found, longest)]
    height, width = _ROW * (len(found.rows) + 2), _LEFT + _BAR + _RIGHT
    key = "games x workers x threads: microseconds of playing (blue) and learning (orange) for each step"
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="13"><rect width="100%" height="100%" fill="white"/><text x="8" y="18">{key}</text>'
        f"{''.join(parts)}</svg>\n"
    )
    try:
        write_atomic(Path(path), svg.encode())
    except OSError as error:
        raise SettingsError(f"the plot {path} cannot be written: {error.strerror}") from None


def _drawn(at: int, row: Row, found: Found, longest: float) -> list[str]:
    top, left = _ROW * (at + 1) + 6, float(_LEFT)
    parts = [f'<text x="8" y="{top + 14}">{escape(label(row, found))}</text>']
    for name, micros in (("play", row.play_us), ("learn", row.learn_us)):
        wide = micros / longest * _BAR
        parts.append(f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="18" fill="{_COLOURS[name]}"/>')
        left += wide
    told = f"{row.steps_per_s:,.0f} steps/s, {row.once_more or row.over_default:.2f} x"
    parts.append(f'<text x="{left + 8:.1f}" y="{top + 14}">{told}</text>')
    return parts

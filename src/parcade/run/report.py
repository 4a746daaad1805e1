"""The page a run leaves behind: one HTML file that needs no network, no script and no other program."""

from __future__ import annotations

import base64
import itertools
import json
import math
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from numbers import Real
from pathlib import Path
from typing import Any
from urllib.parse import quote

import cv2
import numpy as np
from numpy.typing import NDArray

from parcade.run.atomic import write_atomic

Row = dict[str, Any]
Floats = NDArray[np.float64]
Picture = tuple[str, NDArray[np.uint8]]

MAX_POINTS = 400
MAX_MARKS = 60
HUGE = 1e100  # a loss beyond this has diverged; drawn, it would only flatten the rest of its curve

WIDE, HALF, THIRD = (1088, 280), (532, 220), (346, 168)
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 8, 24
QUARTERS = [0.0, 0.25, 0.5, 0.75, 1.0]

LOSSES = (
    ("policy_loss", "Policy loss", "clipped surrogate; swings around zero"),
    ("value_loss", "Value loss", "squared error of the predicted return"),
    ("entropy", "Entropy", "how undecided the policy is; falls as it commits"),
    ("approx_kl", "KL divergence", "how far one update moved the policy"),
    ("explained_variance", "Explained variance", "1: every return foreseen; 0: none of it"),
    ("clip_fraction", "Clip fraction", "share of samples stopped by the clip range"),
)
TIME_PARTS = (("env_s", "env wait"), ("inference_s", "inference"), ("learn_s", "learning"))


def write_report(
    folder: Path,
    *,
    metrics: list[dict[str, Any]],
    summary: dict[str, Any],
    config: dict[str, Any],
    pictures: list[tuple[str, NDArray[np.uint8]]],
    video: str | None,
) -> Path:
    """Write ``folder/report.html`` whole or not at all, and return its path.

    ``pictures`` are (caption, RGB or grey picture); ``video`` is a path relative to ``folder``. Curves, tiles and
    sections whose values were never recorded are left out or shown as a dash; NaN and infinite values are not drawn.
    """
    name = str(summary.get("run_name") or folder.resolve().name)
    body = "\n".join(
        [
            _header(name, summary),
            _tiles(summary),
            _curves(metrics),
            _pictures(pictures),
            _video(video),
            _settings(config),
            _commands(folder),
        ]
    )
    path = folder / "report.html"
    write_atomic(path, PAGE.format(title=escape(name), style=STYLE, body=body).encode())
    return path


# --- numbers -------------------------------------------------------------------------------------------------------


def _real(value: Any) -> float:
    """Return ``value`` as a float that can be drawn, else NaN."""
    if not isinstance(value, Real):
        return math.nan
    number = float(value)
    return number if abs(number) < HUGE else math.nan


def _dig(row: Row, *keys: str) -> float:
    value: Any = row
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return _real(value)


def _unit(biggest: float) -> tuple[float, str]:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if biggest >= size:
            return size, letter
    return 1.0, ""


def short(value: float) -> str:
    """Return a number in few letters.

    >>> [short(v) for v in (0, 12.345, 1234, 5_000_000, 0.00025, float("nan"))]
    ['0', '12.3', '1.23k', '5M', '0.00025', '–']
    """
    if not math.isfinite(value):
        return "–"
    size, letter = _unit(abs(value) * 1.0005)  # 999.6 rounds up to the next unit
    scaled = value / size
    if abs(scaled) >= 1e6:
        return f"{scaled:.2g}{letter}"
    return (f"{scaled:.0f}" if abs(scaled) >= 100 else f"{scaled:.3g}") + letter


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %" if math.isfinite(value) else "–"


def _duration(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "–"
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _words(key: str) -> str:
    text = key.replace("_", " ").strip()
    return text[:1].upper() + text[1:]


# --- curves --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mark:
    """One evaluation: its mean and standard deviation (0 when there is none) at ``x`` env steps."""

    x: float
    mean: float
    std: float


@dataclass(frozen=True)
class Curve:
    """One quantity over env steps, in the order of env steps, without NaN."""

    title: str
    note: str
    xs: Floats
    ys: Floats
    marks: list[Mark] = field(default_factory=list)
    share: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not len(self.xs) and not self.marks

    @property
    def say(self) -> Callable[[float], str]:
        """How a value of this curve is written."""
        return _percent if self.share else short


@dataclass(frozen=True)
class Axes:
    """Maps values to points of a picture of ``size`` and draws the grid that tells them."""

    size: tuple[int, int]
    x_ends: tuple[float, float]
    y_ticks: list[float]
    share: bool = False

    def x(self, value: float) -> float:
        """Return the column of ``value``."""
        low, high = self.x_ends
        return LEFT + (value - low) / (high - low) * (self.size[0] - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Return the line of ``value``."""
        low, high = self.y_ticks[0], self.y_ticks[-1]
        return self.size[1] - BOTTOM - (value - low) / (high - low) * (self.size[1] - TOP - BOTTOM)

    def path(self, xs: Iterable[float], ys: Iterable[float]) -> str:
        """Return the ``d`` of a line through the points."""
        return "M" + "L".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in zip(xs, ys, strict=True))

    def grid(self) -> str:
        """Return lines and labels at round values of both axes."""
        width, height = self.size
        parts = []
        for value, text in zip(self.y_ticks, _labels(self.y_ticks, self.share), strict=True):
            y = self.y(value)
            parts.append(f'<path class="grid" d="M{LEFT},{y:.1f}H{width - RIGHT}"/>')
            parts.append(f'<text x="{LEFT - 8}" y="{y + 3.5:.1f}" text-anchor="end">{text}</text>')
        ticks = [t for t in _ticks(*self.x_ends, width // 75) if self.x_ends[0] <= t <= self.x_ends[1]]
        for value, text in zip(ticks, _labels(ticks, False), strict=True):
            # A label centred on the right edge would be cut off.
            anchor = "end" if self.x(value) > width - 24 else "middle"
            parts.append(f'<text x="{self.x(value):.1f}" y="{height - 6}" text-anchor="{anchor}">{text}</text>')
        return "".join(parts)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """Return lowest and highest value, apart from each other, and from 0 when 0 is near."""
    low, high = min(values), max(values)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        room = 0.1 * abs(low) or 1.0
        return low - room, high + room
    if 0 < low < 0.5 * high:
        low = 0.0
    elif 0 > high > 0.5 * low:
        high = 0.0
    return low, high


def _ticks(low: float, high: float, count: int) -> list[float]:
    """Return about ``count`` multiples of 1, 2 or 5 times a power of ten that enclose ``low`` and ``high``."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    return [k * step for k in range(math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9) + 1)]


def _labels(ticks: list[float], share: bool) -> list[str]:
    if share:
        return [_percent(tick) for tick in ticks]
    biggest = max((abs(tick) for tick in ticks), default=0.0)
    step = (ticks[1] - ticks[0]) if len(ticks) > 1 else biggest or 1.0
    if biggest >= 1e12 or 0 < biggest < 1e-4:
        return [f"{tick:.0e}" if tick else "0" for tick in ticks]
    size, letter = _unit(biggest)
    decimals = max(0, -math.floor(math.log10(step / size) + 1e-9))
    return [f"{tick / size:.{decimals}f}{letter}" if round(tick / size, decimals) else "0" for tick in ticks]


def _means(values: Floats, count: int) -> Floats:
    return np.array([part.mean() for part in np.array_split(values, min(count, len(values)))])


def _smooth(curve: Curve) -> tuple[Floats, Floats]:
    """Return the curve as a centred moving average over a twelfth of it; short curves come back as they are."""
    xs, ys = _means(curve.xs, MAX_POINTS // 2), _means(curve.ys, MAX_POINTS // 2)
    window = np.ones(len(ys) // 12 | 1)
    return xs, np.convolve(ys, window, "same") / np.convolve(np.ones(len(ys)), window, "same")


def _thin(xs: Floats, ys: Floats) -> tuple[Floats, Floats]:
    """Return at most ``MAX_POINTS`` points: lowest and highest of each stretch, so that no spike is lost."""
    if len(xs) <= MAX_POINTS:
        return xs, ys
    keep: list[int] = []
    for part in np.array_split(np.arange(len(xs)), MAX_POINTS // 2):
        keep += sorted({int(part[ys[part].argmin()]), int(part[ys[part].argmax()])})
    return xs[keep], ys[keep]


def _drawing(curve: Curve, size: tuple[int, int], x_ends: tuple[float, float]) -> str:
    values = [*curve.ys, *(m.mean - m.std for m in curve.marks), *(m.mean + m.std for m in curve.marks)]
    ticks = QUARTERS if curve.share else _ticks(*_ends(values), size[1] // 42)
    axes = Axes(size, x_ends, ticks, curve.share)
    parts = [axes.grid()]
    if len(curve.xs) == 1:
        parts.append(f'<circle class="dot" cx="{axes.x(curve.xs[0]):.1f}" cy="{axes.y(curve.ys[0]):.1f}" r="3.5"/>')
    elif len(curve.xs):
        xs, ys = _smooth(curve)
        if len(xs) >= 12:
            parts.append(f'<path class="raw" d="{axes.path(*_thin(curve.xs, curve.ys))}"/>')
        parts.append(f'<path class="line" d="{axes.path(xs, ys)}"/>')
        parts.append(_columns(axes, xs, ys, curve.say))
    parts += [_mark(axes, mark, curve.say) for mark in curve.marks]
    return _svg(curve.title, size, parts)


def _columns(axes: Axes, xs: Floats, ys: Floats, say: Callable[[float], str]) -> str:
    """Return invisible columns that tell the value below the pointer."""
    picked = np.unique(np.linspace(0, len(xs) - 1, min(len(xs), 40)).astype(int))
    at = [axes.x(x) for x in xs[picked]]
    edges = [at[0], *((a + b) / 2 for a, b in itertools.pairwise(at)), at[-1]]
    return "".join(
        f'<rect class="column" x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" '
        f'height="{axes.size[1] - TOP - BOTTOM}"><title>{say(ys[i])} at {short(xs[i])} env steps</title></rect>'
        for (left, right), i in zip(itertools.pairwise(edges), picked, strict=True)
    )


def _mark(axes: Axes, mark: Mark, say: Callable[[float], str]) -> str:
    x, y = axes.x(mark.x), axes.y(mark.mean)
    low, high = (max(axes.y_ticks[0], mark.mean - mark.std), min(axes.y_ticks[-1], mark.mean + mark.std))
    whisker = f'<path class="whisker" d="M{x:.1f},{axes.y(low):.1f}V{axes.y(high):.1f}"/>' if mark.std else ""
    spread = f" ± {say(mark.std)}" if mark.std else ""
    return (
        f'<g class="mark">{whisker}<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'
        f"<title>evaluation: {say(mark.mean)}{spread} at {short(mark.x)} env steps</title></g>"
    )


def _svg(title: str, size: tuple[int, int], parts: list[str]) -> str:
    return (
        f'<svg viewBox="0 0 {size[0]} {size[1]}" role="img" aria-label="{escape(title)} over env steps">'
        f"{''.join(parts)}</svg>"
    )


def _card(title: str, note: str, value: str, drawing: str) -> str:
    return (
        f'<figure class="card"><figcaption><b>{escape(title)}</b><span class="value">{escape(value)}</span>'
        f"<small>{note}</small></figcaption>{drawing}</figure>"
    )


def _curve_card(curve: Curve, size: tuple[int, int], x_ends: tuple[float, float]) -> str:
    last = _smooth(curve)[1][-1] if len(curve.ys) else curve.marks[-1].mean
    return _card(curve.title, escape(curve.note), curve.say(last), _drawing(curve, size, x_ends))


def _shares_card(rows: list[Row], x_ends: tuple[float, float]) -> str:
    """Return where the time of each update went, as areas that fill the height together; "" when unknown."""
    seconds = np.nan_to_num([[_dig(row, "time", key) for key, _ in TIME_PARTS] for row in rows]).clip(0)
    known = seconds.sum(axis=1) > 0
    if not known.any():
        return ""
    xs = _means(np.array([_dig(row, "env_steps") for row in rows])[known], MAX_POINTS // 2)
    parts = np.array([_means(column, MAX_POINTS // 2) for column in seconds[known].T])
    if len(xs) == 1:
        xs, parts = np.array(x_ends), np.repeat(parts, 2, axis=1)
    tops = np.vstack([np.zeros(len(xs)), np.cumsum(parts / parts.sum(axis=0), axis=0)])
    axes = Axes(HALF, x_ends, QUARTERS, True)
    overall = seconds[known].sum(axis=0) / seconds[known].sum()
    areas, legend = [], []
    for i, (_, name) in enumerate(TIME_PARTS):
        outline = axes.path([*xs, *xs[::-1]], [*tops[i], *tops[i + 1][::-1]])
        text = f"{name} {_percent(overall[i])}"
        areas.append(f'<path class="area{i}" d="{outline}Z"><title>{text}</title></path>')
        legend.append(f'<span class="key"><i class="area{i}"></i>{text}</span>')
    drawing = _svg("Where the time goes", HALF, [*areas, axes.grid()])
    return _card("Where the time goes", "".join(legend), "", drawing)


def _curve(
    rows: list[Row], title: str, note: str, *keys: str, evaluated: tuple[str, str] | None = None, share: bool = False
) -> Curve:
    points = [(_dig(row, "env_steps"), _dig(row, *keys)) for row in rows]
    kept = np.array([point for point in points if math.isfinite(point[1])], dtype=np.float64).reshape(-1, 2)
    marks = _marks(rows, *evaluated) if evaluated else []
    return Curve(title, note, kept[:, 0], kept[:, 1], marks, share)


def _marks(rows: list[Row], mean: str, std: str) -> list[Mark]:
    every = [Mark(_dig(row, "env_steps"), _dig(row, "eval", mean), _dig(row, "eval", std)) for row in rows]
    marks = [Mark(m.x, m.mean, m.std if m.std > 0 else 0.0) for m in every if math.isfinite(m.mean)]
    picked = np.unique(np.linspace(0, len(marks) - 1, min(len(marks), MAX_MARKS)).astype(int))
    return [marks[i] for i in picked]


def _curves(metrics: list[Row]) -> str:
    rows = sorted((r for r in metrics if math.isfinite(_dig(r, "env_steps"))), key=lambda r: _dig(r, "env_steps"))
    if not rows:
        return '<section><h2>Learning</h2><p class="lead">No update has been recorded yet.</p></section>'
    # One range for the whole page, so that the same place means the same moment on every curve.
    ends = (0.0, max(_dig(rows[-1], "env_steps"), 1.0))
    returns = _curve(
        rows, "Return per episode", "mean over episodes", "return_mean", evaluated=("mean_reward", "std_reward")
    )
    success = _curve(
        rows, "Success rate", "share of episodes", "success_rate", evaluated=("success_rate", ""), share=True
    )
    length = _curve(rows, "Episode length", "steps per episode", "length_mean", evaluated=("mean_length", "std_length"))
    names = dict.fromkeys(key for row in rows if isinstance(row.get("game"), dict) for key in row["game"])
    game = [_curve(rows, _words(str(name)), "", "game", name) for name in names]
    losses = [_curve(rows, title, note, "losses", key) for key, title, note in LOSSES]
    speed = [_curve(rows, "Steps per second", "env steps of all slots together", "time", "steps_per_s")]
    return (
        _section(
            "Learning",
            LEARNING_LEGEND,
            "wide",
            _cards([returns], WIDE, ends),
            "halves",
            _cards([success, length], HALF, ends),
        )
        + _section("In the game", "What the game itself counts, mean per episode.", "thirds", _cards(game, THIRD, ends))
        + _section("Inside the learner", "One value per update.", "thirds", _cards(losses, THIRD, ends))
        + _section("Speed", "", "halves", _cards(speed, HALF, ends) + _shares_card(rows, ends))
    )


def _cards(curves: list[Curve], size: tuple[int, int], x_ends: tuple[float, float]) -> str:
    return "".join(_curve_card(curve, size, x_ends) for curve in curves if not curve.empty)


def _section(title: str, lead: str, *grids: str) -> str:
    """Return a section of (class, content) grids; "" when no grid has content."""
    filled = [
        f'<div class="{kind}">{cards}</div>' for kind, cards in zip(grids[::2], grids[1::2], strict=True) if cards
    ]
    if not filled:
        return ""
    return f'<section><h2>{title}</h2><p class="lead">{lead}</p>{"".join(filled)}</section>\n'


# --- the rest of the page ------------------------------------------------------------------------------------------


def _header(name: str, summary: Row) -> str:
    facts = [str(summary["game"])] if summary.get("game") else []
    episodes = _dig(summary, "eval_episodes")
    if episodes > 0:
        facts.append(f"evaluated on {short(episodes)} episode{'s' if episodes != 1 else ''}")
    return (
        f'<header><p class="brand">Parcade run report</p><h1>{escape(name)}</h1>'
        f"<p>{escape(' · '.join(facts))}</p></header>"
    )


def _tiles(summary: Row) -> str:
    per_s = _dig(summary, "episodes_per_s")
    tiles = (
        ("Success rate", _percent(_dig(summary, "success_rate")), ""),
        ("Mean return", short(_dig(summary, "return_mean")), ""),
        ("Env steps", short(_dig(summary, "env_steps")), ""),
        ("Steps per second", short(_dig(summary, "steps_per_s")), ""),
        ("Episodes", short(_dig(summary, "episodes")), f"{short(per_s)} per second" if per_s > 0 else ""),
        ("Time", _duration(_dig(summary, "seconds")), ""),
    )
    cells = (f"<div><dt>{name}</dt><dd>{value}<small>{extra}</small></dd></div>" for name, value, extra in tiles)
    return f'<dl class="tiles">{"".join(cells)}</dl>'


def _png(caption: str, picture: NDArray[np.uint8]) -> str:
    colour = picture.ndim == 3 and picture.shape[2] == 3
    if picture.dtype != np.uint8 or not picture.size or not (colour or picture.ndim == 2):
        raise ValueError(
            f"picture '{caption}' is {picture.shape} of {picture.dtype}, "
            "wanted (height, width, 3) or (height, width) of uint8"
        )
    stored = cv2.cvtColor(np.ascontiguousarray(picture), cv2.COLOR_RGB2BGR) if colour else picture
    return base64.b64encode(cv2.imencode(".png", stored)[1].tobytes()).decode()


def _pictures(pictures: list[Picture]) -> str:
    cards = "".join(
        f'<figure><img src="data:image/png;base64,{_png(caption, picture)}" alt="{escape(caption)}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        for caption, picture in pictures
    )
    return _section("Pictures", "", "pictures", cards)


def _video(video: str | None) -> str:
    if video is None:
        return ""
    address = escape(quote(video))
    player = f'<video src="{address}" controls loop muted playsinline preload="metadata"></video>'
    link = f'<p class="lead"><a href="{address}">{escape(video)}</a></p>'
    return _section("Video", "", "video", player + link)


def _commands(folder: Path) -> str:
    commands = (
        (
            "Watch the best policy play and count its successes",
            ["eval", "--model", str(folder / "models/best_model.zip")],
        ),
        ("Go on training where this run stopped", ["resume", str(folder)]),
    )
    lines = "".join(
        f"<p>{what}</p><pre><code>{escape(shlex.join(['parcade', *words]))}</code></pre>" for what, words in commands
    )
    return _section("How to continue", "", "commands", lines)


def _settings(config: Row) -> str:
    if not config:
        return ""
    rows = "".join(f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in _flat("", config))
    return _section(
        "Settings",
        "",
        "settings",
        f"<details><summary>Every setting of this run</summary><table>{rows}</table></details>",
    )


def _flat(prefix: str, value: Any) -> list[tuple[str, str]]:
    """Return nested settings as rows (dotted name, value)."""
    if isinstance(value, dict) and value:
        return [row for key, inner in value.items() for row in _flat(f"{prefix}.{key}" if prefix else str(key), inner)]
    return [(prefix, value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False))]


LEARNING_LEGEND = (
    'Over env steps. <span class="key"><i class="thin"></i>per update</span>'
    '<span class="key"><i class="thick"></i>smoothed</span>'
    '<span class="key"><i class="ring"></i>evaluation, ± one standard deviation</span>'
)

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · Parcade</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""

STYLE = """
:root { --page: #f6f7f9; --card: #fff; --edge: #e3e6eb; --ink: #1a1f29; --soft: #626b7a; --grid: #eceef2;
  --line: #2f6fde; --mark: #d9622b; --area0: #2f6fde; --area1: #3aa99f; --area2: #e0a03b; }
@media (prefers-color-scheme: dark) { :root { --page: #11141a; --card: #191d25; --edge: #2a303b; --ink: #e8ebf0;
  --soft: #98a2b3; --grid: #262c36; --line: #6ea3ff; --mark: #ff9a62; --area0: #4d86e8; --area1: #3f9f96;
  --area2: #c98f35; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1168px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 32px; line-height: 1.2; letter-spacing: -.02em; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 18px; letter-spacing: -.01em; margin: 0 0 4px; }
header p { margin: 6px 0 0; color: var(--soft); }
header .brand { margin: 0 0 6px; font-size: 13px; font-weight: 600; color: var(--line); }
section { margin-top: 44px; }
.lead { display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 0 0 14px; color: var(--soft); font-size: 13.5px; }
.lead:empty { margin-bottom: 10px; }
a { color: var(--line); }
.tiles { display: grid; grid-template-columns: repeat(6, 1fr); gap: 1px; margin: 24px 0 0; background: var(--edge);
  border: 1px solid var(--edge); border-radius: 10px; overflow: hidden; }
.tiles div { background: var(--card); padding: 14px 18px 12px; }
.tiles dt { color: var(--soft); font-size: 13px; }
.tiles dd { margin: 2px 0 0; font-size: 26px; font-weight: 650; letter-spacing: -.02em; line-height: 1.25;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
.tiles small { display: block; font-size: 12px; font-weight: 400; letter-spacing: 0; color: var(--soft); }
.wide, .halves, .thirds { display: grid; gap: 16px; }
.wide + div { margin-top: 16px; }
.halves { grid-template-columns: repeat(2, minmax(0, 1fr)); }
.thirds { grid-template-columns: repeat(3, minmax(0, 1fr)); }
.card { margin: 0; padding: 14px 16px 10px; background: var(--card); border: 1px solid var(--edge);
  border-radius: 10px; break-inside: avoid; display: flex; flex-direction: column; justify-content: space-between; }
.card figcaption { display: grid; grid-template-columns: 1fr auto; column-gap: 12px; margin-bottom: 8px; }
.card b { font-weight: 600; overflow-wrap: anywhere; }
.card .value { font-weight: 600; font-variant-numeric: tabular-nums; color: var(--line); }
.card small { grid-column: 1 / -1; color: var(--soft); font-size: 12.5px; line-height: 1.4; }
.wide .card { overflow-x: auto; }
.wide svg { min-width: 640px; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { font-size: 11px; fill: var(--soft); font-variant-numeric: tabular-nums; }
.grid { stroke: var(--grid); fill: none; }
.raw, .line { fill: none; stroke: var(--line); stroke-linejoin: round; stroke-linecap: round; }
.raw { stroke-width: 1; opacity: .35; }
.line { stroke-width: 2.25; }
.dot { fill: var(--line); }
.column { fill: var(--line); opacity: 0; }
.column:hover { opacity: .1; }
.mark circle { fill: var(--card); stroke: var(--mark); stroke-width: 2; }
.mark:hover circle { fill: var(--mark); }
.whisker { stroke: var(--mark); opacity: .55; }
path.area0 { fill: var(--area0); } path.area1 { fill: var(--area1); } path.area2 { fill: var(--area2); }
.key { display: inline-flex; align-items: center; gap: 6px; white-space: nowrap; }
.card .key { margin-right: 16px; }
.key i { width: 16px; height: 10px; border-radius: 2px; }
i.area0 { background: var(--area0); } i.area1 { background: var(--area1); } i.area2 { background: var(--area2); }
i.thin { height: 1px; background: var(--line); opacity: .6; }
i.thick { height: 3px; background: var(--line); }
i.ring { width: 10px; border: 2px solid var(--mark); border-radius: 50%; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(200px, 1fr)); gap: 16px; }
.pictures figure { margin: 0; break-inside: avoid; }
.pictures img { display: block; width: 100%; image-rendering: pixelated; border: 1px solid var(--edge);
  border-radius: 8px; }
.pictures figcaption { margin-top: 6px; font-size: 13px; color: var(--soft); overflow-wrap: anywhere; }
video { display: block; width: 100%; max-width: 640px; margin-bottom: 8px; background: #000; border-radius: 10px;
  image-rendering: pixelated; }
.commands p { margin: 12px 0 6px; font-size: 14px; }
pre { margin: 0; padding: 11px 16px; background: var(--card); border: 1px solid var(--edge); border-radius: 8px;
  overflow-x: auto; user-select: all; }
code, td { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
details { background: var(--card); border: 1px solid var(--edge); border-radius: 10px; }
summary { padding: 12px 16px; cursor: pointer; font-weight: 600; }
table { width: 100%; border-collapse: collapse; }
tr { border-top: 1px solid var(--grid); break-inside: avoid; }
th, td { padding: 6px 16px; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
th { width: 36%; font-size: 13.5px; font-weight: 400; color: var(--soft); }
@media (max-width: 900px) { .tiles { grid-template-columns: repeat(3, 1fr); }
  .thirds { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@media (max-width: 620px) { main { padding: 24px 16px; } .halves, .thirds { grid-template-columns: minmax(0, 1fr); }
  .tiles { grid-template-columns: repeat(2, 1fr); } .tiles div { padding: 12px 14px; } }
@media print { :root { --page: #fff; --card: #fff; --edge: #d5d9e0; --ink: #000; --soft: #555; --grid: #e6e8ec;
  --line: #2f6fde; --mark: #d9622b; --area0: #2f6fde; --area1: #3aa99f; --area2: #e0a03b; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } main { padding: 0; max-width: none; }
  .wide svg text { font-size: 14px; } .halves svg text { font-size: 13.5px; }
  h2, .lead { break-after: avoid; } section { margin-top: 24px; } video { display: none; } }
"""

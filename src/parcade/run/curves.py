"""Curves of a run as SVG: axes, smoothing, thinning, marks; and numbers as a reader likes them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Row = dict[str, Any]
Floats = NDArray[np.float64]

MAX_POINTS = 400
MAX_MARKS = 60
HUGE = 1e100  # a loss beyond this has diverged; drawn, it would only flatten the rest of its curve

WIDE, HALF, THIRD = (1088, 280), (532, 220), (346, 168)
NARROW = (346, 220)  # of a wide chart on a phone
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
TIME_PARTS = (("play_s", "playing"), ("learn_s", "learning"))
LEARNING_LEGEND = (
    'Over env steps. <span class="key"><i class="thin"></i>per update</span>'
    '<span class="key"><i class="thick"></i>smoothed</span>'
    '<span class="key"><i class="ring"></i>evaluation, ± one standard deviation</span>'
)


def _real(value: Any) -> float:
    """Return ``value`` as a float that can be drawn, else NaN."""
    if not isinstance(value, Real):
        return math.nan
    number = float(value)
    return number if abs(number) < HUGE else math.nan


def dig(row: Row, *keys: str) -> float:
    """Return a number deep in a row of metrics; not a number where it is missing."""
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


def percent(value: float) -> str:
    """Return a share as a reader writes it."""
    return f"{100 * value:.0f} %" if math.isfinite(value) else "–"


def duration(seconds: float) -> str:
    """Return a time in the largest unit that says enough."""
    if not math.isfinite(seconds):
        return "–"
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _words(key: str) -> str:
    text = key.replace("_", " ").strip()
    return text[:1].upper() + text[1:]


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
        return percent if self.share else short


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


def axes_for(size: tuple[int, int], x_ends: tuple[float, float], values: Sequence[float], share: bool) -> Axes:
    """Return axes with round marks that hold all ``values``; shares go from 0 to 1."""
    ticks = QUARTERS if share else _ticks(*_ends(values), size[1] // 42)
    return Axes(size, x_ends, ticks, share)


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
        return [percent(tick) for tick in ticks]
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
    axes = axes_for(size, x_ends, values, curve.share)
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
    return svg(curve.title, size, parts)


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


def svg(title: str, size: tuple[int, int], parts: list[str], *, narrow: bool = False) -> str:
    """Return a picture of ``size`` with these parts; one of a wide chart for narrow screens is seen on those only."""
    kind = ' class="narrow"' if narrow or size == NARROW else ""
    return (
        f'<svg{kind} viewBox="0 0 {size[0]} {size[1]}" role="img" aria-label="{escape(title)} over env steps">'
        f"{''.join(parts)}</svg>"
    )


def for_both(size: tuple[int, int], draw: Callable[[tuple[int, int]], str]) -> str:
    """Return a drawing of ``size``; a wide one is drawn a second time, for narrow screens."""
    return draw(size) + (draw(NARROW) if size == WIDE else "")


def card(title: str, note: str, value: str, drawing: str) -> str:
    """Return a picture in a frame with its title; ``note`` is HTML."""
    return (
        f'<figure class="card"><figcaption><b>{escape(title)}</b><span class="value">{escape(value)}</span>'
        f"<small>{note}</small></figcaption>{drawing}</figure>"
    )


def _curve_card(curve: Curve, size: tuple[int, int], x_ends: tuple[float, float]) -> str:
    last = _smooth(curve)[1][-1] if len(curve.ys) else curve.marks[-1].mean
    drawing = for_both(size, lambda wanted: _drawing(curve, wanted, x_ends))
    return card(curve.title, escape(curve.note), curve.say(last), drawing)


def _shares_card(rows: list[Row], x_ends: tuple[float, float]) -> str:
    """Return where the time of each update went, as areas that fill the height together; "" when unknown."""
    seconds = np.nan_to_num([[dig(row, "time", key) for key, _ in TIME_PARTS] for row in rows]).clip(0)
    known = seconds.sum(axis=1) > 0
    if not known.any():
        return ""
    xs = _means(np.array([dig(row, "env_steps") for row in rows])[known], MAX_POINTS // 2)
    parts = np.array([_means(column, MAX_POINTS // 2) for column in seconds[known].T])
    if len(xs) == 1:
        xs, parts = np.array(x_ends), np.repeat(parts, 2, axis=1)
    tops = np.vstack([np.zeros(len(xs)), np.cumsum(parts / parts.sum(axis=0), axis=0)])
    axes = Axes(HALF, x_ends, QUARTERS, True)
    overall = seconds[known].sum(axis=0) / seconds[known].sum()
    areas, legend = [], []
    for i, (_, name) in enumerate(TIME_PARTS):
        outline = axes.path([*xs, *xs[::-1]], [*tops[i], *tops[i + 1][::-1]])
        text = f"{name} {percent(overall[i])}"
        areas.append(f'<path class="area{i}" d="{outline}Z"><title>{text}</title></path>')
        legend.append(f'<span class="key"><i class="area{i}"></i>{text}</span>')
    drawing = svg("Where the time goes", HALF, [*areas, axes.grid()])
    return card("Where the time goes", "".join(legend), "", drawing)


def _curve(
    rows: list[Row], title: str, note: str, *keys: str, evaluated: tuple[str, str] | None = None, share: bool = False
) -> Curve:
    points = [(dig(row, "env_steps"), dig(row, *keys)) for row in rows]
    kept = np.array([point for point in points if math.isfinite(point[1])], dtype=np.float64).reshape(-1, 2)
    marks = _marks(rows, *evaluated) if evaluated else []
    return Curve(title, note, kept[:, 0], kept[:, 1], marks, share)


def _marks(rows: list[Row], mean: str, std: str) -> list[Mark]:
    every = [Mark(dig(row, "env_steps"), dig(row, "eval", mean), dig(row, "eval", std)) for row in rows]
    marks = [Mark(m.x, m.mean, m.std if m.std > 0 else 0.0) for m in every if math.isfinite(m.mean)]
    picked = np.unique(np.linspace(0, len(marks) - 1, min(len(marks), MAX_MARKS)).astype(int))
    return [marks[i] for i in picked]


def curves(metrics: list[Row], milestones: Sequence[Mapping[str, str]] = ()) -> str:
    """Return all sections with curves, as HTML; the metrics of ``milestones`` are shares of episodes."""
    rows = sorted((r for r in metrics if math.isfinite(dig(r, "env_steps"))), key=lambda r: dig(r, "env_steps"))
    if not rows:
        return '<section><h2>Learning</h2><p class="lead">No update has been recorded yet.</p></section>'
    # One range for the whole page, so that the same place means the same moment on every curve.
    ends = (0.0, max(dig(rows[-1], "env_steps"), 1.0))
    returns = _curve(
        rows, "Return per episode", "mean over episodes", "return_mean", evaluated=("mean_reward", "std_reward")
    )
    success = _curve(
        rows, "Success rate", "share of episodes", "success_rate", evaluated=("success_rate", ""), share=True
    )
    length = _curve(rows, "Episode length", "steps per episode", "length_mean", evaluated=("mean_length", "std_length"))
    reached = [_share(rows, milestone) for milestone in milestones]
    told = {milestone["metric"] for milestone in milestones}
    names = dict.fromkeys(key for row in rows if isinstance(row.get("game"), dict) for key in row["game"])
    game = [_curve(rows, _words(str(name)), "", "game", name) for name in names if name not in told]
    losses = [_curve(rows, title, note, "losses", key) for key, title, note in LOSSES]
    speed = [_curve(rows, "Steps per second", "env steps of all slots together", "time", "steps_per_s")]
    return (
        section(
            "Learning",
            LEARNING_LEGEND,
            "wide",
            _cards([returns], WIDE, ends),
            "halves",
            _cards([success, length], HALF, ends),
        )
        + section("Milestones", "Share of episodes that reach each.", "thirds", _cards(reached, THIRD, ends))
        + section("In the game", "What the game itself counts, mean per episode.", "thirds", _cards(game, THIRD, ends))
        + section("Inside the learner", "One value per update.", "thirds", _cards(losses, THIRD, ends))
        + section("Speed", "", "halves", _cards(speed, HALF, ends) + _shares_card(rows, ends))
    )


def _share(rows: list[Row], milestone: Mapping[str, str]) -> Curve:
    """Return the curve of a milestone; that of success stands in a column of its own."""
    is_success = milestone["metric"] == "success"
    metric, where = ("success_rate", ()) if is_success else (milestone["metric"], ("game",))
    title = _words(milestone["name"])
    return _curve(rows, title, milestone["words"], *where, metric, evaluated=(metric, ""), share=True)


def _cards(curves: list[Curve], size: tuple[int, int], x_ends: tuple[float, float]) -> str:
    return "".join(_curve_card(curve, size, x_ends) for curve in curves if not curve.empty)


def section(title: str, lead: str, *grids: str) -> str:
    """Return a section of (class, content) grids; "" when no grid has content."""
    filled = [
        f'<div class="{kind}">{cards}</div>' for kind, cards in zip(grids[::2], grids[1::2], strict=True) if cards
    ]
    if not filled:
        return ""
    return f'<section><h2>{title}</h2><p class="lead">{lead}</p>{"".join(filled)}</section>\n'

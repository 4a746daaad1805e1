"""A sweep's charts as SVG: bars, slices, parallel coordinates and curves. No script, no library."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from parcade.run.curves import HALF, NARROW, THIRD, WIDE, axes_for, card, for_both, percent
from parcade.tune.sweep.scales import Scale, clipped

LEFT, RIGHT, TOP, BOTTOM = 50, 14, 10, 26
_BAR = 30  # pixels of a setting in the chart of importance
_NAMES = 140
_LYING = 62.0  # pixels from axis to axis where they lie below each other


@dataclass(frozen=True, slots=True)
class Dot:
    """One trial in a chart: where it stands, what it is called, and how it is drawn."""

    x: Any
    y: float | None  # None: it has no value, it only paused
    label: str
    kind: str = ""  # "best", "own", "front" or ""


@dataclass(frozen=True, slots=True)
class Path:
    """One trial in parallel coordinates: its value on each axis; None where a setting does not count for it."""

    values: Mapping[str, Any]
    label: str
    kind: str  # "best", "own", "good", "" or "paused"


@dataclass(frozen=True, slots=True)
class Line:
    """One trial's curve."""

    xs: Sequence[float]
    ys: Sequence[float]
    label: str
    kind: str


def svg(title: str, size: tuple[int, int], parts: Sequence[str], *, narrow: bool = False) -> str:
    """Return a picture of ``size``; one of a wide chart for narrow screens is seen on those only."""
    kind = ' class="narrow"' if narrow or size == NARROW else ""
    body = "".join(parts)
    return f'<svg{kind} viewBox="0 0 {size[0]} {size[1]}" role="img" aria-label="{escape(title)}">{body}</svg>'


def importance_chart(importance: Mapping[str, float], note: str) -> str:
    """Draw a bar for each setting, the most important one first."""
    size = (HALF[0], max(HALF[1], _BAR * len(importance) + 8))
    room, parts = size[0] - _NAMES - 56, []
    for index, (name, share) in enumerate(sorted(importance.items(), key=lambda item: (-item[1], item[0]))):
        y = _BAR * index + 6
        parts.append(
            f'<text class="name" x="0" y="{y + 14}">{escape(name)}</text>'
            f'<rect class="back" x="{_NAMES}" y="{y + 2}" width="{room}" height="16" rx="4"/>'
            f'<rect class="bar" x="{_NAMES}" y="{y + 2}" width="{max(2.0, share * room):.1f}" height="16" rx="4"/>'
            f'<text x="{size[0] - 44}" y="{y + 14}">{percent(share)}</text>'
        )
    return card("Importance", escape(note), "", svg("Importance of each setting", size, parts))


def scatter(title: str, note: str, across: Scale, up: Scale, dots: Sequence[Dot], *, wide: bool = False) -> str:
    """Draw a dot for each trial; those without a value are ticks at the lower edge."""
    size = HALF if wide else THIRD
    parts = _frame(size, across, up)
    for dot in sorted(dots, key=lambda one: one.kind == "best"):
        x, told = _x(size, across.place(dot.x)), f"<title>{escape(dot.label)}</title>"
        if dot.y is None:
            parts.append(f'<path class="rug" d="M{x:.1f},{size[1] - BOTTOM}v-8">{told}</path>')
        else:
            radius = 5 if dot.kind == "best" else 3.5
            y = _y(size, up.place(dot.y))
            parts.append(f'<circle class="dot {dot.kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}">{told}</circle>')
    return card(title, escape(note), "", svg(title, size, parts))


def _x(size: tuple[int, int], share: float) -> float:
    return LEFT + share * (size[0] - LEFT - RIGHT)


def _y(size: tuple[int, int], share: float) -> float:
    return size[1] - BOTTOM - share * (size[1] - TOP - BOTTOM)


def _frame(size: tuple[int, int], across: Scale, up: Scale) -> list[str]:
    """Return the grid of both scales with its labels."""
    parts = []
    for place, text in up.marks():
        y = _y(size, place)
        parts.append(f'<path class="grid" d="M{LEFT},{y:.1f}H{size[0] - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 3.5:.1f}" text-anchor="end">{escape(text)}</text>')
    for place, text in across.marks():
        x = _x(size, place)
        anchor = "end" if x > size[0] - 24 else "middle"
        parts.append(f'<text x="{x:.1f}" y="{size[1] - 7}" text-anchor="{anchor}">{escape(text)}</text>')
    return parts


def history(title: str, values: Sequence[tuple[int, float | None, str]], up: Scale, smaller_is_better: bool) -> str:
    """Draw each trial's value in the order of trials, and a line for the best so far."""
    last = max((number for number, _, _ in values), default=0)
    across = Scale(1.0, float(max(2, last + 1)))
    best: float | None = None
    steps: list[tuple[float, float]] = []
    dots = []
    for number, value, label in values:
        if value is not None and (best is None or ((value < best) == smaller_is_better and value != best)):
            best = value
        if best is not None:
            steps.append((number + 1.0, best))
        dots.append(Dot(number + 1, value, label))
    picture = scatter(title, "dots: trials; line: the best so far; ticks: paused", across, up, dots, wide=True)
    if len(steps) < 2:
        return picture
    corners = "".join(f"H{_x(HALF, across.place(x)):.1f}V{_y(HALF, up.place(y)):.1f}" for x, y in steps[1:])
    first = f"M{_x(HALF, across.place(steps[0][0])):.1f},{_y(HALF, up.place(steps[0][1])):.1f}"
    return picture.replace("<circle", f'<path class="sofar" d="{first}{corners}"/><circle', 1)  # below the dots


def parallel(axes: Mapping[str, Scale], paths: Sequence[Path], note: str) -> str:
    """Draw a line for each trial through all its settings to its value, on the last axis."""
    drawings = _upright_axes(axes, paths) + _lying_axes(axes, paths)
    return card("Parallel coordinates", escape(note), "", drawings)


def _upright_axes(axes: Mapping[str, Scale], paths: Sequence[Path]) -> str:
    """Draw the axes beside each other."""
    size, top, bottom, side = (WIDE[0], 340), 34, 22, 60
    gap = (size[0] - 2 * side) / max(1, len(axes) - 1)
    columns = {name: side + index * gap for index, name in enumerate(axes)}

    def y(share: float) -> float:
        return size[1] - bottom - share * (size[1] - top - bottom)

    parts = _ways(axes, paths, lambda name, share: (columns[name], y(share)))
    for name, scale in axes.items():
        x = columns[name]
        parts.append(f'<path class="axis" d="M{x:.1f},{top}V{size[1] - bottom}"/>')
        parts.append(f'<text class="name" x="{x:.1f}" y="16" text-anchor="middle">{escape(clipped(name))}</text>')
        parts += [
            f'<text class="halo" x="{x + 5:.1f}" y="{y(place) + 3.5:.1f}">{escape(text)}</text>'
            for place, text in scale.marks()
        ]
    return svg("Parallel coordinates", size, parts)


def _lying_axes(axes: Mapping[str, Scale], paths: Sequence[Path]) -> str:
    """Draw the axes below each other, for a phone."""
    width, side = NARROW[0], 20
    rows = {name: 24.0 + _LYING * index for index, name in enumerate(axes)}

    def x(share: float) -> float:
        return side + share * (width - 2 * side)

    parts = _ways(axes, paths, lambda name, share: (x(share), rows[name]))
    for name, scale in axes.items():
        y = rows[name]
        parts.append(f'<path class="axis" d="M{side},{y:.1f}H{width - side}"/>')
        parts.append(f'<text class="name halo" x="0" y="{y - 9:.1f}">{escape(name)}</text>')
        parts += [
            f'<text class="halo" x="{x(place):.1f}" y="{y + 15:.1f}" text-anchor="middle">{escape(text)}</text>'
            for place, text in scale.marks()
        ]
    return svg("Parallel coordinates", (width, round(_LYING * (len(axes) - 1)) + 48), parts, narrow=True)


def _ways(
    axes: Mapping[str, Scale], paths: Sequence[Path], at: Callable[[str, float], tuple[float, float]]
) -> list[str]:
    """Return a line for each trial, the best ones on top; ``at`` says where a share of an axis is."""
    order, parts = {"paused": 0, "": 1, "good": 2, "own": 3, "best": 4}, []
    for path in sorted(paths, key=lambda one: order[one.kind]):
        known = {name: value for name, value in path.values.items() if value is not None}
        points = [at(name, axes[name].place(value)) for name, value in known.items()]
        way = "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<path class="way {path.kind}" d="M{way}"><title>{escape(path.label)}</title></path>')
    return parts


def curves_chart(title: str, note: str, lines: Sequence[Line], share: bool) -> str:
    """Draw a curve for each trial over env steps, the best one on top."""
    drawn = [line for line in lines if len(line.xs) > 1]
    if not drawn:
        return ""
    values = [value for line in drawn for value in line.ys if math.isfinite(value)]
    order = {"paused": 0, "": 1, "good": 2, "own": 3, "best": 4}

    def drawing(size: tuple[int, int]) -> str:
        axes = axes_for(size, (0.0, max(line.xs[-1] for line in drawn)), values, share)
        ways = [
            f'<path class="way {line.kind}" d="{axes.path(*thinned(line.xs, line.ys))}">'
            f"<title>{escape(line.label)}</title></path>"
            for line in sorted(drawn, key=lambda one: order[one.kind])
        ]
        return svg(title, size, [axes.grid(), *ways])

    return card(title, escape(note), "", for_both(WIDE, drawing))


def thinned(xs: Sequence[float], ys: Sequence[float], most: int = 160) -> tuple[list[float], list[float]]:
    """Return at most about ``most`` points, both ends among them."""
    every = max(1, len(xs) // most)
    kept = [index for index in range(len(xs)) if index % every == 0 or index == len(xs) - 1]
    return [xs[index] for index in kept], [ys[index] for index in kept]

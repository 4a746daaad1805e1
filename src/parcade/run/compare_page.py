"""Compared runs as one HTML file that needs no network, no script and no other program."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from parcade.run.atomic import write_atomic
from parcade.run.comparison import TRAINED, Comparison, Group
from parcade.run.curves import (
    HALF,
    NARROW,
    WIDE,
    Axes,
    axes_for,
    card,
    duration,
    for_both,
    percent,
    section,
    short,
    svg,
)
from parcade.run.page import PAGE, STYLE
from parcade.run.statistics import Floats, Interval

_COLOURS = 8
_SHARES = ("success_rate", "clip_fraction", "explained_variance")
_ROW, _NAMES = 40, 360  # pixels of a group in the picture of scores, and of its name
_NARROW_ROW, _NARROW_LETTERS = 66, 46  # on a phone: its name stands above it and has at most so many letters
_MORE = (
    ("rollout/ep_rew_mean", "Return in training"),
    ("rollout/success_rate", "Success rate in training"),
    ("rollout/ep_len_mean", "Episode length"),
    ("train/entropy", "Entropy"),
    ("time/steps_per_s", "Steps per second"),
)
_OWN_STYLE = """
.g0 { --c: #2f6fde; } .g1 { --c: #d9622b; } .g2 { --c: #2a9d73; } .g3 { --c: #a44bc4; }
.g4 { --c: #b58700; } .g5 { --c: #c4314b; } .g6 { --c: #0f8ba5; } .g7 { --c: #6b6f7a; }
@media (prefers-color-scheme: dark) { .g0 { --c: #6ea3ff; } .g1 { --c: #ff9a62; } .g2 { --c: #5cc79d; }
  .g3 { --c: #d48cf0; } .g4 { --c: #e0b84a; } .g5 { --c: #ff7d92; } .g6 { --c: #4fc3dc; } .g7 { --c: #a4a9b5; } }
path.mean { stroke: var(--c); stroke-width: 2.25; fill: none; stroke-linejoin: round; }
path.band { fill: var(--c); opacity: .16; stroke: none; }
.span { stroke: var(--c); stroke-width: 8; opacity: .3; stroke-linecap: round; }
.point { fill: var(--c); } .seed { fill: none; stroke: var(--c); opacity: .7; }
.key i.swatch { background: var(--c); height: 3px; }
svg text.name { fill: var(--ink); font-size: 12.5px; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--edge); border-radius: 10px; }
.scroll th, .scroll td { width: auto; overflow-wrap: break-word; }
.scroll thead th { font-weight: 600; color: var(--ink); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
"""


def write_page(path: Path, comparison: Comparison) -> None:
    """Write the page whole or not at all."""
    groups = comparison.groups
    n_runs = sum(len(group.runs) for group in groups)
    title = f"{n_runs} runs in {len(groups)} groups" if len(groups) > 1 else f"{n_runs} runs"
    body = "\n".join(
        [
            f'<header><p class="brand">Parcade comparison</p><h1>{title}</h1>'
            f"<p>{escape(comparison.metric)}, interquartile mean over seeds with 95 % bootstrap intervals</p></header>",
            section("Final scores", _legend(groups), "wide", _scores(comparison)),
            section(
                "Curves", "Over env steps. Bands hold 95 % of the resampled seeds.", "wide", _main_curve(comparison)
            ),
            section("More curves", "", "halves", _more_curves(comparison)),
            section("Scores in numbers", "", "scroll", _table(comparison)),
            section("Settings that differ", "", "scroll", _differences(comparison)),
            section("Runs", "", "scroll", _runs(comparison, path.parent)),
        ]
    )
    write_atomic(path, PAGE.format(title=escape(title), style=STYLE + _OWN_STYLE, body=body).encode())


def _colour(index: int) -> str:
    return f"g{index % _COLOURS}"


def _legend(groups: Sequence[Group]) -> str:
    return "".join(
        f'<span class="key {_colour(i)}"><i class="swatch"></i>{escape(group.label)}</span>'
        for i, group in enumerate(groups)
    )


def _is_share(metric: str) -> bool:
    return metric.rpartition("/")[2] in _SHARES


def _say(metric: str, value: float) -> str:
    return percent(value) if _is_share(metric) else short(value)


def _scores(comparison: Comparison) -> str:
    """Draw every group's interval, its middle and its seeds, on one scale with round marks; names stand beside them."""
    metric, groups = comparison.metric, comparison.groups
    values = [value for group in groups for value in (*group.scores, group.score.low, group.score.high)]
    drawings = [
        _score_rows(comparison, values, WIDE[0], (_NAMES, 24), _ROW, (-2, 12)),
        _score_rows(comparison, values, NARROW[0], (8, 16), _NARROW_ROW, (-32, -17)),  # names stand above them
    ]
    return card(metric, "dot: interquartile mean; bar: 95 % interval; rings: single seeds", "", "".join(drawings))


def _score_rows(
    comparison: Comparison, values: list[float], width: int, sides: tuple[int, int], row: int, words: tuple[int, int]
) -> str:
    """Draw the scores; ``sides`` are left free for names, ``words`` says how far off a row its two lines stand."""
    groups, metric = comparison.groups, comparison.metric
    size, is_narrow = (width, row * len(groups) + 34), width == NARROW[0]
    ticks = axes_for(NARROW if is_narrow else WIDE, (0.0, 1.0), values, _is_share(metric)).y_ticks

    def x(value: float) -> float:
        return sides[0] + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (width - sum(sides))

    parts = [
        f'<path class="grid" d="M{x(tick):.1f},4V{size[1] - 22}"/>'
        f'<text x="{x(tick):.1f}" y="{size[1] - 6}" text-anchor="middle">{_say(metric, tick)}</text>'
        for tick in ticks
    ]
    for i, group in enumerate(groups):
        y = row * (i + 1) - 22
        seeds = "".join(f'<circle class="seed" cx="{x(score):.1f}" cy="{y}" r="3"/>' for score in group.scores)
        name = _clipped(group.label) if is_narrow else group.label
        parts.append(
            f'<g class="{_colour(i)}"><path class="span" d="M{x(group.score.low):.1f},{y}H{x(group.score.high):.1f}"/>'
            f'{seeds}<circle class="point" cx="{x(group.score.value):.1f}" cy="{y}" r="5"/>'
            f'<text class="name" x="0" y="{y + words[0]}">{escape(name)}</text>'
            f'<text x="0" y="{y + words[1]}">{_interval(metric, group.score)}</text></g>'
        )
    return svg(metric, size, parts, narrow=is_narrow)


def _clipped(name: str) -> str:
    return name if len(name) <= _NARROW_LETTERS else f"{name[: _NARROW_LETTERS - 1]}…"


def _interval(metric: str, found: Interval) -> str:
    if found.low == found.high == found.value:
        return _say(metric, found.value)
    return f"{_say(metric, found.value)} ({_say(metric, found.low)} to {_say(metric, found.high)})"


Band = tuple[Floats, Floats, Floats, Floats]


def _main_metric(comparison: Comparison) -> str:
    """Return the metric of the large picture: the compared one, if it is a curve and no single evaluation."""
    lengths = [len(run.curves[comparison.metric][0]) for group in comparison.groups for run in group.runs]
    return comparison.metric if min(lengths) > 2 else TRAINED


def _main_curve(comparison: Comparison) -> str:
    metric = _main_metric(comparison)
    return _chart(comparison, metric, dict(_MORE).get(metric, metric), WIDE)


def _more_curves(comparison: Comparison) -> str:
    wanted = [(metric, title) for metric, title in _MORE if metric != _main_metric(comparison)]
    return "".join(_chart(comparison, metric, title, HALF) for metric, title in wanted)


def _chart(comparison: Comparison, metric: str, title: str, size: tuple[int, int]) -> str:
    """Draw a curve with its band for each group that has one; "" where none has."""
    found = [(i, band) for i, group in enumerate(comparison.groups) if (band := group.curve(metric)) is not None]
    if not found:
        return ""
    values = [float(v) for _, (_, _, low, high) in found for v in (*low, *high) if math.isfinite(v)]
    end = max(float(band[0][-1]) for _, band in found)

    def drawing(size: tuple[int, int]) -> str:
        axes = axes_for(size, (0.0, max(end, 1.0)), values, _is_share(metric))
        lines = (_line(axes, _colour(i), band, comparison.groups[i].label) for i, band in found)
        return svg(title, size, [axes.grid(), *lines])

    return card(title, escape(metric), "", for_both(size, drawing))


def _line(axes: Axes, colour: str, band: Band, label: str) -> str:
    xs, mean, low, high = band
    if len(xs) == 1:
        x, y = axes.x(xs[0]), axes.y(mean[0])
        return f'<g class="{colour}"><circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="4"/></g>'
    outline = axes.path([*xs, *xs[::-1]], [*low, *high[::-1]])
    return (
        f'<g class="{colour}"><title>{escape(label)}</title><path class="band" d="{outline}Z"/>'
        f'<path class="mean" d="{axes.path(xs, mean)}"/></g>'
    )


def _table(comparison: Comparison) -> str:
    head = ("group", "seeds", "IQM", "95 % interval", "env steps", "time a run", "beats the first")
    wins = ["", *(_interval("success_rate", won) for won in comparison.improvements)]
    rows = [
        (
            group.label,
            str(len(group.runs)),
            _say(comparison.metric, group.score.value),
            "–"
            if len(group.runs) == 1
            else f"{_say(comparison.metric, group.score.low)} to {_say(comparison.metric, group.score.high)}",
            f"{group.env_steps:,}",
            duration(sum(run.seconds for run in group.runs) / len(group.runs)),
            win,
        )
        for group, win in zip(comparison.groups, wins, strict=True)
    ]
    return _html_table(head, rows, numbers=range(1, 7))


def _differences(comparison: Comparison) -> str:
    if not comparison.differences:
        return ""
    head = ("setting", *(group.label for group in comparison.groups))
    rows = [
        (name, *("–" if value is None else str(value) for value in values))
        for name, values in comparison.differences.items()
    ]
    return _html_table(head, rows)


def _runs(comparison: Comparison, here: Path) -> str:
    rows = []
    for group in comparison.groups:
        for run in group.runs:
            report = run.path / "report.html"
            below = run.path.is_relative_to(here.resolve())
            name = escape(str(run.path.relative_to(here.resolve()) if below else run.path))
            if report.is_file():
                link = quote(Path(os.path.relpath(report, here.resolve())).as_posix())
                name = f'<a href="{escape(link)}">{name}</a>'
            score = _say(comparison.metric, run.score(comparison.metric))
            rows.append((escape(group.label), name, escape(str(run.settings.get("seed", "–"))), score))
    return _html_table(("group", "run", "seed", comparison.metric), rows, numbers=range(2, 4), escaped=True)


def _html_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = (), escaped: bool = False
) -> str:
    def cell(kind: str, index: int, text: str) -> str:
        shown = text if escaped and kind == "td" else escape(text)
        return f"<{kind}{' class=number' if index in numbers else ''}>{shown}</{kind}>"

    lines = ("".join(cell("td", i, text) for i, text in enumerate(row)) for row in rows)
    top = "".join(cell("th", i, text) for i, text in enumerate(head))
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"

"""The page a run leaves behind: one HTML file that needs no network, no script and no other program."""

from __future__ import annotations

import base64
import json
import math
import shlex
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import cv2
import numpy as np
from numpy.typing import NDArray

from parcade.run.atomic import write_atomic
from parcade.run.curves import Row, curves, dig, duration, percent, section, short
from parcade.run.page import PAGE, STYLE

Picture = tuple[str, NDArray[np.uint8]]


def write_report(
    folder: Path,
    *,
    metrics: list[dict[str, Any]],
    summary: dict[str, Any],
    config: dict[str, Any],
    pictures: list[tuple[str, NDArray[np.uint8]]],
    video: str | None,
    milestones: Sequence[Mapping[str, str]] = (),
    commands: tuple[str, str] | None = None,
    coach: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Write ``folder/report.html`` whole or not at all, and return its path.

    ``pictures`` are (caption, RGB or grey picture); ``video`` is a path relative to ``folder``; ``milestones`` have a
    ``name``, the ``metric`` that tells their share, and ``words``; ``commands`` evaluate and resume the run; ``coach``
    are lines of coach.jsonl. Curves, tiles and sections whose values were never recorded are left out or shown as a
    dash; only finite values are drawn.
    """
    name = str(summary.get("run_name") or folder.resolve().name)
    body = "\n".join(
        [
            _header(name, summary),
            _tiles(summary),
            curves(metrics, milestones),
            _coach(coach),
            _pictures(pictures),
            _video(video),
            _settings(config),
            _commands(*(commands or _plain_commands(folder))),
        ]
    )
    path = folder / "report.html"
    write_atomic(path, PAGE.format(title=escape(name), style=STYLE, body=body).encode())
    return path


def _header(name: str, summary: Row) -> str:
    facts = [str(summary["game"])] if summary.get("game") else []
    episodes = dig(summary, "eval_episodes")
    if episodes > 0:
        facts.append(f"evaluated on {short(episodes)} episode{'s' if episodes != 1 else ''}")
    return (
        f'<header><p class="brand">Parcade run report</p><h1>{escape(name)}</h1>'
        f"<p>{escape(' · '.join(facts))}</p></header>"
    )


def _tiles(summary: Row) -> str:
    per_s = dig(summary, "episodes_per_s")
    success = dig(summary, "success_rate")
    tiles = (
        *([("Success rate", percent(success), "")] if math.isfinite(success) else []),  # most envs know none
        _return(summary),
        ("Env steps", short(dig(summary, "env_steps")), ""),
        ("Steps per second", short(dig(summary, "steps_per_s")), ""),
        ("Episodes", short(dig(summary, "episodes")), f"{short(per_s)} per second" if per_s > 0 else ""),
        ("Time", duration(dig(summary, "seconds")), ""),
    )
    cells = (f"<div><dt>{name}</dt><dd>{value}<small>{extra}</small></dd></div>" for name, value, extra in tiles)
    return f'<dl class="tiles">{"".join(cells)}</dl>'


def _return(summary: Row) -> tuple[str, str, str]:
    """Return the tile of the evaluation, or of the training where there was none."""
    evaluation, trained = summary.get("evaluation"), short(dig(summary, "return_mean"))
    if not evaluation:
        return "Return in training", trained, ""
    mean, std = (short(dig(evaluation, f"return_{name}")) for name in ("mean", "std"))
    return "Evaluated return", mean, f"± {std}, in training {trained}"


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
    return section("Pictures", "", "pictures", cards)


def _coach(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return what a coach decided and what became of it; its words are text of somebody else."""
    if not lines:
        return ""
    told = [[str(line.get(name, "")) for name in ("update", "what", "words")] + [_shares(line)] for line in lines]
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>" for cells in told)
    head = "<tr><th>update</th><th>decision</th><th>words</th><th>shares then</th></tr>"
    return section("Coach", "", "settings", f"<table>{head}{rows}</table>")


def _shares(line: Mapping[str, Any]) -> str:
    shares = line.get("shares")
    told = shares.items() if isinstance(shares, Mapping) else ()
    return ", ".join(f"{name} {value:.2f}" for name, value in told if isinstance(value, float | int))


def _video(video: str | None) -> str:
    if video is None:
        return ""
    address = escape(quote(video))
    player = f'<video src="{address}" controls loop muted playsinline preload="metadata"></video>'
    link = f'<p class="lead"><a href="{address}">{escape(video)}</a></p>'
    return section("Video", "", "video", player + link)


def _plain_commands(folder: Path) -> tuple[str, str]:
    words = ["eval", "--model", str(folder / "models/best_model.zip")], ["resume", str(folder)]
    return shlex.join(["parcade", *words[0]]), shlex.join(["parcade", *words[1]])


def _commands(evaluate: str, resume: str) -> str:
    told = {
        "Let the best policy play on unseen seeds; --visual opens a window, --video writes a film": evaluate,
        "Go on training where this run stopped; --timesteps N for longer than planned": resume,
    }
    lines = "".join(f"<p>{what}</p><pre><code>{escape(command)}</code></pre>" for what, command in told.items())
    return section("How to continue", "", "commands", lines)


def _settings(config: Row) -> str:
    if not config:
        return ""
    rows = "".join(f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in _flat("", config))
    return section(
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

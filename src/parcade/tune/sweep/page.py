"""A sweep as one HTML file that needs no network, no script and no other program."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from urllib.parse import quote

from parcade.run.atomic import write_atomic
from parcade.run.curves import card, duration, section, short
from parcade.run.listing import rows_of
from parcade.run.page import PAGE, STYLE
from parcade.tune.sweep import charts
from parcade.tune.sweep.importance import FEWEST, importance
from parcade.tune.sweep.outcome import Outcome
from parcade.tune.sweep.records import TrialRecord
from parcade.tune.sweep.scales import Scale, said, scale_for, scale_of

_GOOD = 0.25  # of the trials with a value are drawn as good ones
_OWN_STYLE = """
.dot { fill: var(--line); opacity: .65; } .dot.best { fill: var(--mark); opacity: 1; }
.dot.front { fill: var(--card); stroke: var(--mark); stroke-width: 2; opacity: 1; }
.rug { stroke: var(--soft); stroke-width: 1.5; opacity: .6; }
.sofar { fill: none; stroke: var(--mark); stroke-width: 2; stroke-linejoin: round; }
.bar { fill: var(--line); } .back { fill: var(--grid); }
.way { fill: none; stroke: var(--line); stroke-width: 1.25; opacity: .6; stroke-linejoin: round; }
.way.paused { stroke: var(--soft); opacity: .45; } .way.good { opacity: .9; stroke-width: 1.75; }
.way.own { stroke: var(--ink); stroke-dasharray: 6 3; opacity: .9; stroke-width: 2; }
.dot.own { fill: var(--card); stroke: var(--ink); stroke-width: 2; opacity: 1; }
.way.best { stroke: var(--mark); opacity: 1; stroke-width: 2.75; }
.way:hover { opacity: 1; stroke-width: 3; }
.axis { stroke: var(--soft); opacity: .55; }
svg text.name { fill: var(--ink); font-size: 12.5px; }
svg text.halo { paint-order: stroke; stroke: var(--card); stroke-width: 3px; }
.key i.best { background: var(--mark); height: 3px; } .key i.rest { background: var(--line); height: 2px; }
.key i.own { background: var(--ink); height: 2px; }
.key i.waits { background: var(--soft); height: 2px; opacity: .6; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--edge); border-radius: 10px; }
.scroll th { width: auto; white-space: nowrap; } .scroll td { white-space: nowrap; }
tr.best td { color: var(--mark); font-weight: 600; }
"""
_KEYS = {
    "best": "the best trial",
    "own": "the defaults",
    "rest": "others that came to their end",
    "waits": "paused",
}


def write_page(path: Path, outcome: Outcome) -> None:
    """Write the page whole or not at all."""
    page = _Page(outcome)
    title = f"{outcome.sweep.plan.name}: {len(outcome.trials)} trials"
    body = "\n".join(
        [
            f'<header><p class="brand">Parcade sweep</p><h1>{escape(title)}</h1>'
            f"<p>{escape(outcome.objective.words)}, {'large' if page.larger else 'small'} is good</p></header>",
            page.tiles(),
            section("What matters", "", "halves", page.importance() + page.history()),
            section("Trials", page.legend(), "wide", page.parallel()),
            section("Slices", "Each setting alone, against the value.", "thirds", page.slices()),
            section("Curves", page.legend(), "wide", page.curves()),
            section("All trials", "", "scroll", page.table()),
        ]
    )
    write_atomic(path, PAGE.format(title=escape(title), style=STYLE + _OWN_STYLE, body=body).encode())


class _Page:
    """The parts of the page, from what the sweep came to."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome, self._sweep = outcome, outcome.sweep
        self.larger = outcome.objective.goal == "maximize"
        ranked = [trial for trial in outcome.ranked() if _value(trial) is not None]
        self._good = {trial.number for trial in ranked[: max(1, round(_GOOD * len(ranked)))]}
        self._best, self._own = outcome.best, outcome.defaults
        values = [value for trial in ranked if (value := _value(trial)) is not None]
        share = outcome.objective.reach is None and outcome.objective.metric.endswith("success_rate")
        self._up = scale_for(values, share)

    def tiles(self) -> str:
        outcome, best = self._outcome, self._best
        other = self._own or (outcome.trials[0] if outcome.trials else None)
        facts = [
            (
                "best value",
                "–" if best is None else short(best.values[0]),
                "" if best is None else f"trial {best.number + 1}",
            ),
            (
                "first trial" if self._own is None else "defaults",
                "–" if other is None or not other.values else short(other.values[0]),
                "for comparison" if other is None else f"trial {other.number + 1}, for comparison",
            ),
            (
                "trials",
                str(len(outcome.trials)),
                f"{outcome.count('complete')} complete, {outcome.count('paused')} paused",
            ),
            ("failed", str(outcome.count("failed")), "settings that cannot be trained"),
        ]
        tiles = (
            f"<div><dt>{name}</dt><dd>{value}<small>{escape(note)}</small></dd></div>" for name, value, note in facts
        )
        return f'<dl class="tiles">{"".join(tiles)}</dl>'

    def legend(self) -> str:
        """Name the kinds of lines that there are."""
        kinds = {"waits" if _value(trial) is None else self._kind(trial) for trial in self._outcome.trials}
        shown = {"rest" if kind in ("", "good") else kind for kind in kinds}
        return "".join(
            f'<span class="key"><i class="{kind}"></i>{words}</span>' for kind, words in _KEYS.items() if kind in shown
        )

    def importance(self) -> str:
        found = importance(self._outcome)
        if not found:
            return card("Importance", f"Fewer than {FEWEST} trials tell nothing about it.", "", "")
        note = "how far the best trials' values differ from all trials' (PED-ANOVA); few trials make it rough"
        return charts.importance_chart(found, note)

    def history(self) -> str:
        told = [(trial.number, _value(trial), self._label(trial)) for trial in self._outcome.trials]
        found = charts.history(self._outcome.objective.words, told, self._up, not self.larger)
        return found + (self._front() if self._outcome.objective.wall_time else "")

    def _front(self) -> str:
        """Draw both values against each other."""
        trials = [trial for trial in self._outcome.trials if len(trial.values) == 2 and _value(trial) is not None]
        front = self._outcome.pareto
        dots = [
            charts.Dot(trial.values[1], trial.values[0], self._label(trial), "front" if trial.number in front else "")
            for trial in trials
        ]
        across = scale_for([trial.values[1] for trial in trials])
        return charts.scatter(
            "Value and seconds", "rings: no trial beats them in both", across, self._up, dots, wide=True
        )

    def slices(self) -> str:
        found = ""
        for one in self._sweep.plan.ranges:
            dots = [
                charts.Dot(trial.point[one.name], _value(trial), self._label(trial), self._kind(trial))
                for trial in self._outcome.trials
                if one.name in trial.point
            ]
            when = "; ".join(f"{name} {', '.join(map(said, values))}" for name, values in one.when)
            note = ("in powers" if one.log else "") + (f"only with {when}" if when else "")
            if dots:
                found += charts.scatter(one.name, note, scale_of(one), self._up, dots)
        return found

    def parallel(self) -> str:
        axes: dict[str, Scale] = {one.name: scale_of(one) for one in self._sweep.plan.ranges}
        axes["value"] = self._up
        paths = [
            charts.Path(
                {**{one.name: trial.point.get(one.name) for one in self._sweep.plan.ranges}, "value": _value(trial)},
                self._label(trial),
                self._kind(trial) if _value(trial) is not None else "paused",
            )
            for trial in self._outcome.trials
        ]
        return charts.parallel(axes, paths, "a line for each trial; grey ones paused and have no value")

    def curves(self) -> str:
        objective = self._outcome.objective
        lines = []
        for trial in self._outcome.trials:
            rows = rows_of(self._sweep.path_of(trial.number))
            points = [(row["env_steps"], value) for row in rows if (value := objective.shown(row)) is not None]
            kind = self._kind(trial) if _value(trial) is not None else "paused"
            lines.append(charts.Line([x for x, _ in points], [y for _, y in points], self._label(trial), kind))
        share = objective.metric.endswith("success_rate")
        return charts.curves_chart(objective.metric, "over env steps", lines, share)

    def table(self) -> str:
        names = [one.name for one in self._sweep.plan.ranges]
        head = ("trial", "state", "value", "env steps", "time", *names)
        lines = "".join(self._table_row(trial, names) for trial in self._outcome.ranked())
        top = "".join(f"<th>{escape(name)}</th>" for name in head)
        return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"

    def _table_row(self, trial: TrialRecord, names: list[str]) -> str:
        value, folder = _value(trial), self._sweep.path_of(trial.number)
        number = self._name(trial)
        if (folder / "report.html").is_file():
            number = f'<a href="{quote(f"{folder.name}/report.html")}">{number}</a>'
        missed = self._outcome.objective.reach is not None and not trial.reached
        shown = "–" if value is None else f"{short(value)}{' (not reached)' if missed else ''}"
        steps = trial.env_steps or max(trial.scores, default=0)
        cells = [escape(trial.state), escape(trial.reason or shown), f"{steps:,}", duration(trial.seconds)]
        cells += [escape(said(trial.point[name])) if name in trial.point else "" for name in names]
        is_best = self._best is not None and trial.number == self._best.number
        return (
            f"<tr{' class=best' if is_best else ''}>"
            + "".join(f"<td>{cell}</td>" for cell in (number, *cells))
            + "</tr>"
        )

    def _kind(self, trial: TrialRecord) -> str:
        if self._best is not None and trial.number == self._best.number:
            return "best"
        if trial is self._own:
            return "own"
        return "good" if trial.number in self._good else ""

    def _label(self, trial: TrialRecord) -> str:
        value = _value(trial)
        told = trial.state if value is None else short(value)
        point = ", ".join(f"{name} {said(part)}" for name, part in trial.point.items())
        return f"trial {self._name(trial)}: {told}; {point}"

    def _name(self, trial: TrialRecord) -> str:
        return f"{trial.number + 1}{' (defaults)' if trial is self._own else ''}"


def _value(trial: TrialRecord) -> float | None:
    """Return a complete trial's first value."""
    return trial.values[0] if trial.state == "complete" and not math.isnan(trial.values[0]) else None

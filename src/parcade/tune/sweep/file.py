"""The sweep file: YAML or JSON that names ranges, an objective and a budget. Every fault is told together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_origin

from parcade.config.file import read_config
from parcade.config.fitting import whole_number
from parcade.config.other_names import our_name
from parcade.config.settings import ALIASES, TrainSettings
from parcade.config.single import value_faults
from parcade.errors import SettingsError, did_you_mean
from parcade.tune.sweep.objective import Objective
from parcade.tune.sweep.plan import DEFAULTS, Halving, SweepPlan
from parcade.tune.sweep.ranges import Range, parse_range

KEYS = ("name", "fixed", "settings", "objective", "sampler", "pruning", "first", "budget")
OWNED = {
    **{"run_name": "the sweep's name", "log_root": "--out", "env_factory": "a title or env_id"},
    **dict.fromkeys(("model", "llm", "llm_key_env"), "fixed"),
}
MACHINE = ("n_workers", "num_threads", "pin_workers", "parallel_start_method", "device")
_GROUPS = ("rollout/", "game/", "train/", "time/", "eval/", "explore/")


def read_sweep(path: str, flags: Mapping[str, Any]) -> SweepPlan:
    """Return the plan of a sweep file, with the user's flags over its fixed settings."""
    said = read_config(path)
    faults = [f"unknown key {key!r}{did_you_mean(str(key), KEYS)}" for key in said if key not in KEYS]
    reader = _Reader(said, faults)
    fixed = {**{ALIASES.get(key, key): value for key, value in reader.table("fixed").items()}, **flags}
    ranges = reader.ranges(fixed)
    name = str(said.get("name") or Path(path).stem)
    if not re.fullmatch(r"[\w][\w .+-]*", name):
        faults.append(f"name is {name!r}, wanted the name of a folder")
    plan = reader.plan(name, fixed, ranges)
    if faults:
        raise SettingsError(f"the sweep file {path}: {'; '.join(faults)}")
    return plan


class _Reader:
    """Reads the parts of a sweep file and notes what is wrong with them."""

    def __init__(self, said: Mapping[str, Any], faults: list[str]) -> None:
        self._said, self._faults = said, faults

    def table(self, key: str) -> dict[str, Any]:
        found = self._said.get(key) or {}
        if isinstance(found, dict):
            return found
        self._faults.append(f"{key} is {found!r}, wanted `name: value` lines")
        return {}

    def ranges(self, fixed: Mapping[str, Any]) -> tuple[Range, ...]:
        found: dict[str, Range] = {}
        said = self.table("settings")
        if not said and not self._faults:
            self._faults.append("it names no settings with ranges; nothing would differ between trials")
        for key, range_said in said.items():
            name = str(ALIASES.get(key, key))
            fault = _no_range_for(name, fixed)
            if fault is not None:
                self._faults.append(fault)
                continue
            try:
                found[name] = parse_range(name, range_said, found)
            except ValueError as error:
                self._faults.append(str(error))
                continue
            self._faults += _invalid_ends(found[name])
        unknown = [key for key in fixed if key not in TrainSettings.model_fields]
        self._faults += [f"unknown setting {key!r}{our_name(str(key), TrainSettings.model_fields)}" for key in unknown]
        self._faults += [
            f"{key} is {OWNED[key]}'s business, drop it from fixed" for key in ("run_name", "log_root") if key in fixed
        ]
        return tuple(found.values())

    def plan(self, name: str, fixed: dict[str, Any], ranges: tuple[Range, ...]) -> SweepPlan:
        budget, sampler = self._known("budget", ("n_trials", "minutes")), self._sampler()
        kind = sampler.get("kind", "tpe")
        if kind not in ("tpe", "random", "grid"):
            self._faults.append(f"sampler is {kind!r}, wanted tpe, random or grid")
        if kind == "grid":
            free = [one.name for one in ranges if one.grid() is None]
            self._faults += [f"{one} has endless values, wanted step or points for the grid" for one in free]
        elif not budget:
            self._faults.append("budget is missing, wanted n_trials, minutes or both")
        return SweepPlan(
            name=name,
            fixed=fixed,
            ranges=ranges,
            objective=self._objective(),
            sampler=kind,
            seed=self._whole(sampler, "sampler.seed", 0, lowest=0) or 0,
            startup=self._whole(sampler, "sampler.startup", 10) or 10,
            halving=self._halving({one.name for one in ranges}),
            first=self._first(ranges),
            n_trials=self._whole(budget, "budget.n_trials", None),
            minutes=self._positive(budget, "budget.minutes"),
        )

    def _objective(self) -> Objective:
        said = self._said.get("objective")
        if isinstance(said, str):
            said = {"metric": said}
        if not isinstance(said, dict) or not isinstance(said.get("metric"), str):
            self._faults.append("objective is missing, wanted {metric: NAME} with a name of docs/metrics.md")
            return Objective("")
        self._check_keys("objective", said, ("metric", "direction", "reach", "cost", "min_episodes", "wall_time"))
        metric = said["metric"]
        if not metric.startswith(_GROUPS):
            self._faults.append(
                f"objective.metric is {metric!r}, wanted a name such as rollout/success_rate or eval/mean_reward"
            )
        for key, wanted in {
            "direction": ("maximize", "minimize"),
            "cost": ("env_steps", "seconds"),
            "wall_time": (True, False),
        }.items():
            if key in said and said[key] not in wanted:
                self._faults.append(f"objective.{key} is {said[key]!r}, wanted {wanted[0]!r} or {wanted[1]!r}")
        if "cost" in said and "reach" not in said:
            self._faults.append("objective.cost counts until a value is reached; add reach")
        reach = self._number(said, "objective.reach")
        given = {key: said[key] for key in ("direction", "cost", "wall_time") if key in said}
        episodes = self._whole(said, "objective.min_episodes", None, lowest=0)
        if episodes is not None:
            given["min_episodes"] = episodes
        return Objective(metric, reach=reach, **given)

    def _halving(self, swept: set[str]) -> Halving | None:
        said = self._known("pruning", ("halving",)).get("halving")
        if said is None:
            return None
        if not isinstance(said, dict) or "first" not in said:
            self._faults.append(f"pruning.halving is {said!r}, wanted {{first: ENV_STEPS, factor: 3}}")
            return None
        self._check_keys("pruning.halving", said, ("first", "factor"))
        if swept & {"total_timesteps", "num_episodes"}:
            self._faults.append("halving compares trials at equal steps; total_timesteps cannot have a range beside it")
        first = self._whole(said, "pruning.halving.first", None) or 1
        return Halving(first, self._whole(said, "pruning.halving.factor", 3, lowest=2) or 3)

    def _first(self, ranges: tuple[Range, ...]) -> tuple[Any, ...]:
        said = self._said.get("first", [])
        points = said if isinstance(said, list) else [said]
        names = {one.name: one for one in ranges}
        for point in points:
            if point == DEFAULTS:
                continue
            if not isinstance(point, dict):
                self._faults.append(f"first has {point!r}, wanted `defaults` or settings by name")
                continue
            for name, value in point.items():
                if name not in names:
                    self._faults.append(f"first names {name!r}, which has no range{did_you_mean(str(name), names)}")
                elif not names[name].holds(_read(value)):
                    self._faults.append(f"first has {name} {value!r}, which is outside of its range")
        return tuple(
            {name: _read(value) for name, value in point.items()} if isinstance(point, dict) else point
            for point in points
        )

    def _sampler(self) -> dict[str, Any]:
        said = self._said.get("sampler", "tpe")
        if isinstance(said, str):
            return {"kind": said}
        return self._known("sampler", ("kind", "seed", "startup"))

    def _known(self, key: str, keys: tuple[str, ...]) -> dict[str, Any]:
        found = self.table(key)
        self._check_keys(key, found, keys)
        return found

    def _check_keys(self, where: str, found: Mapping[str, Any], keys: tuple[str, ...]) -> None:
        unknown = [str(key) for key in found if key not in keys]
        self._faults += [f"unknown key {where}.{key}{did_you_mean(key, keys)}" for key in unknown]

    def _whole(self, said: Mapping[str, Any], where: str, default: int | None, lowest: int = 1) -> int | None:
        value = said.get(where.rpartition(".")[2], default)
        try:
            found = None if value is None else whole_number(str(value))
        except ValueError:
            found = lowest - 1
        if found is not None and (found < lowest or isinstance(value, bool)):
            self._faults.append(f"{where} is {value!r}, wanted a whole number from {lowest} on")
        return found

    def _number(self, said: Mapping[str, Any], where: str) -> float | None:
        value = _read(said.get(where.rpartition(".")[2]))
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            return value
        self._faults.append(f"{where} is {value!r}, wanted a number")
        return None

    def _positive(self, said: Mapping[str, Any], where: str) -> float | None:
        value = self._number(said, where)
        if value is not None and value <= 0:
            self._faults.append(f"{where} is {value!r}, wanted more than 0")
        return value


def _read(value: Any) -> Any:
    """Return numbers that YAML takes for text, such as 1e-4, as numbers."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _no_range_for(name: str, fixed: Mapping[str, Any]) -> str | None:
    """Return why a setting can have no range; None where it can."""
    top, dot, _ = name.partition(".")
    field = TrainSettings.model_fields.get(top)
    if field is None:
        return f"unknown setting {name!r}{our_name(name, TrainSettings.model_fields)}"
    if dot and get_origin(field.annotation) is not dict:
        return f"{top} has no parts, so {name!r} means nothing"
    if name in fixed or (dot and name.partition(".")[2] in (fixed.get(top) or {})):
        return f"{name} has a range and a fixed value; drop one of them"
    if name in OWNED:
        return f"{name} can have no range (use {OWNED[name]})"
    if name in MACHINE:
        return f"{name} changes no result, so it can have no range"
    return None


def _invalid_ends(found: Range) -> list[str]:
    """Return what settings say against the ends of a range."""
    top, dot, key = found.name.partition(".")
    faults = [fault for value in found.ends() for fault in value_faults(top, {key: value} if dot else value)]
    return list(dict.fromkeys(faults))

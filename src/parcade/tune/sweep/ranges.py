"""A range of a sweep: the values one setting may take, and when it counts at all."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from parcade.config.fitting import whole_number

Kind = Literal["float", "int", "choice"]
KINDS = ("float", "int", "choice")
_KEYS = (*KINDS, "log", "step", "points", "when")


@dataclass(frozen=True, slots=True)
class Range:
    """What a setting may be. ``when`` names other settings and the values for which this one counts."""

    name: str
    kind: Kind
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    step: float | None = None
    points: int | None = None  # of a grid
    choices: tuple[Any, ...] = ()
    when: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    def counts(self, chosen: Mapping[str, Any]) -> bool:
        """Return whether the range counts for what other ranges have chosen."""
        return all(name in chosen and chosen[name] in wanted for name, wanted in self.when)

    def holds(self, value: Any) -> bool:
        """Return whether a trial could have this value."""
        if self.kind == "choice":
            return any(_same(value, choice) for choice in self.choices)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or (self.kind == "int" and value != int(value))
        ):
            return False
        on_step = self.step is None or math.isclose(
            (value - self.low) / self.step, round((value - self.low) / self.step), abs_tol=1e-9
        )
        return self.low <= value <= self.high and on_step

    def ends(self) -> tuple[Any, ...]:
        """Return the values that must be valid for all between them to be."""
        return self.choices if self.kind == "choice" else (self._number(self.low), self._number(self.high))

    def grid(self) -> tuple[Any, ...] | None:
        """Return the values of a grid; None where neither ``points`` nor ``step`` says which."""
        if self.kind == "choice":
            return self.choices
        step = self.step or (1 if self.kind == "int" and not self.log else None)
        if self.points is not None:
            values = [self._between(i / (self.points - 1)) for i in range(self.points)]
            return tuple(dict.fromkeys(self._number(value) for value in values))
        if step is None:
            return None
        return tuple(self._number(self.low + i * step) for i in range(int((self.high - self.low) / step + 1e-9) + 1))

    def _between(self, share: float) -> float:
        if self.log:
            return math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        return self.low + share * (self.high - self.low)

    def _number(self, value: float) -> float | int:
        return round(value) if self.kind == "int" else float(f"{value:.12g}")

    def label(self, value: Any) -> str | int | float | bool | None:
        """Return a value as the storage and tables hold it: lists as JSON."""
        if self.kind == "choice" and not isinstance(value, str | int | float | bool | None):
            return json.dumps(value)
        return value  # type: ignore[no-any-return]

    def value(self, label: Any) -> Any:
        """Return the value that a label of ``label`` stands for."""
        if self.kind == "choice":
            return next(choice for choice in self.choices if _same(self.label(choice), label))
        return int(label) if self.kind == "int" else float(label)


def _same(one: Any, other: Any) -> bool:
    """Compare as JSON does: 1 and true differ."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def parse_range(name: str, said: Any, before: Mapping[str, Range]) -> Range:
    """Return the range that a sweep file says; ``before`` are those above it. Raises ValueError with what is wrong."""
    if isinstance(said, list):
        said = {"choice": said}
    if not isinstance(said, dict):
        raise ValueError(f"{name} is {said!r}, wanted a range such as {{float: [0.1, 0.9]}}; single values go to fixed")
    unknown = [str(key) for key in said if key not in _KEYS]
    kinds = [kind for kind in KINDS if kind in said]
    if unknown or len(kinds) != 1:
        what = f"the unknown key {unknown[0]!r}" if unknown else f"{len(kinds)} of float, int and choice"
        raise ValueError(f"{name} has {what}, wanted one of float, int and choice, and of {', '.join(_KEYS[3:])}")
    kind: Any = kinds[0]
    when = tuple(_condition(name, other, values, before) for other, values in _pairs(name, said.get("when", {})))
    if kind == "choice":
        return Range(name, kind, choices=_choices(name, said), when=when)
    return _numbers(name, kind, said, when)


def _choices(name: str, said: Mapping[str, Any]) -> tuple[Any, ...]:
    values = said["choice"]
    if not isinstance(values, list) or len(values) < 2:
        raise ValueError(f"{name} has an empty range: choice is {values!r}, wanted a list of two values or more")
    if any(_same(value, other) for i, value in enumerate(values) for other in values[:i]):
        raise ValueError(f"{name} has a choice twice: {values!r}")
    extra = [key for key in ("log", "step", "points") if key in said]
    if extra:
        raise ValueError(f"{name} is a choice and takes no {extra[0]}")
    return tuple(values)


def _numbers(name: str, kind: Kind, said: Mapping[str, Any], when: Any) -> Range:
    ends = said[kind]
    if not isinstance(ends, list) or len(ends) != 2:
        raise ValueError(f"{name}: {kind} is {ends!r}, wanted [lowest, highest]")
    low, high = (_number(name, kind, end) for end in ends)
    log = said.get("log", False)
    if low >= high:
        raise ValueError(f"{name} has an empty range: {low:g} to {high:g}, wanted the lower number first")
    if not isinstance(log, bool) or (log and low <= 0):
        raise ValueError(f"{name}: log is {log!r} and the range begins at {low:g}, wanted log: true and more than 0")
    step = None if said.get("step") is None else _number(name, kind, said["step"])
    if step is not None and (log or not 0 < step <= high - low):
        raise ValueError(f"{name}: step is {step:g}, wanted one that fits into the range, without log")
    points = said.get("points")
    if points is not None and (type(points) is not int or not 2 <= points <= 1000):
        raise ValueError(f"{name}: points is {points!r}, wanted 2 to 1000 values of a grid")
    return Range(name, kind, low, high, log, step, points, when=when)


def _number(name: str, kind: Kind, said: Any) -> float:
    """Read a number; YAML takes 1e-4 and 250k for text."""
    try:
        if isinstance(said, bool):
            raise ValueError
        number = whole_number(str(said)) if kind == "int" else float(said)
        if math.isfinite(number):
            return number
    except (ValueError, TypeError):
        pass
    raise ValueError(f"{name}: {said!r} is no {'whole ' if kind == 'int' else ''}number")


def _pairs(name: str, said: Any) -> list[tuple[str, Any]]:
    if not isinstance(said, dict):
        raise ValueError(f"{name}: when is {said!r}, wanted {{setting: value}}")
    return list(said.items())


def _condition(name: str, other: str, values: Any, before: Mapping[str, Range]) -> tuple[str, tuple[Any, ...]]:
    if other not in before:
        known = ", ".join(before) or "none"
        raise ValueError(f"{name}: when names {other!r}, wanted a setting with a range above it ({known})")
    wanted = tuple(values) if isinstance(values, list) else (values,)
    missing = [value for value in wanted if not before[other].holds(value)]
    if missing or not wanted or before[other].kind == "float":
        raise ValueError(f"{name}: {other} is never {values!r}, so the range would never count")
    return other, wanted

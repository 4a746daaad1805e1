"""The games of a running training as a window shows them, asked for through the showcase like any viewer's."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from parcade.env.picture_file import TRAINING, Shown
from parcade.errors import RunError
from parcade.host.cores import usable_cores
from parcade.view.attached import Attached, attach
from parcade.view.budget import Budget

SHARE = 0.1  # of all cores, for drawing
_LOOK_S = 0.3  # between two looks for the training, or after it


class TrainingGallery:
    """What is new of every slot; which training it is stands in a file of ``folder`` as soon as it has begun."""

    def __init__(self, folder: Path) -> None:
        self._note = folder / TRAINING
        self._attached: Attached | None = None
        self._budget = Budget(usable_cores(), SHARE)
        self._every, self._draws = 1, True
        self._looked_s = self._asked_s = 0.0
        self._newest: dict[int, int] = {}
        self._steps: dict[int, int] = {}  # of the slot's episode when it was last shown

    def news(self) -> dict[str, Shown]:
        """Return what is new, by a name that sorts as the slots do."""
        if time.monotonic() - self._looked_s > _LOOK_S:
            self._looked_s = time.monotonic()
            self._follow_training()
        attached = self._attached
        if attached is None:
            return {}
        started = time.process_time()
        found = {slot: shown for slot in range(attached.n_envs) if (shown := self._shown(attached, slot)) is not None}
        cost_s = float(attached.showcase.arrays["cost_us"][list(found)].sum()) * 1e-6 if found else 0.0
        if time.monotonic() - self._asked_s >= self._budget.period_s:
            self._asked_s = time.monotonic()
            self._ask(attached)
            self._budget.spend(time.process_time() - started, cost_s)
        return {f"game-{slot:05d}": shown for slot, shown in found.items()}

    def _follow_training(self) -> None:
        if self._attached is not None:
            if not self._attached.is_alive():
                self.close()
            return
        try:
            told = json.loads(self._note.read_text(encoding="utf-8"))
            self._every, self._draws = int(told["every"] or 1), bool(told["raw"])
            self._attached = attach(Path(told["run"]))
        except (OSError, ValueError, LookupError, TypeError, RunError):
            return  # it has not begun yet

    def _ask(self, attached: Attached) -> None:
        """Ask for each slot that has answered and has gone on far enough since."""
        arrays, lengths = attached.showcase.arrays, attached.status["running_length"]
        asked, answered = ("asked", "answered") if self._draws else ("detail_asked", "detail_answered")
        wanted = []
        for slot in np.flatnonzero(arrays[asked] == arrays[answered]).tolist():
            before = self._steps.get(slot)
            length = int(lengths[slot])
            if before is None or not before <= length < before + self._every:
                self._steps[slot] = length
                wanted.append(slot)
        if wanted:
            attached.showcase.ask(*((wanted, ()) if self._draws else ((), wanted)))

    def _shown(self, attached: Attached, slot: int) -> Shown | None:
        if self._draws:
            picture = attached.showcase.picture(slot, self._newest.get(slot, 0))
            if picture is None:
                return None
            self._newest[slot] = picture.number
            return _shown(attached, slot, picture.block, picture.row, picture.pixels)
        found = attached.showcase.detail(slot, self._newest.get(slot, 0))
        if found is None:
            return None
        self._newest[slot], text = found
        told = json.loads(text)
        return _shown(attached, slot, int(told.get("block", 0)), int(told.get("row", 0)), None)

    def close(self) -> None:
        """Let the training go; twice is fine."""
        if self._attached is not None:
            self._attached.close()
            self._attached = None


def _shown(attached: Attached, slot: int, number: int, row: int, pixels: Any) -> Shown:
    block = attached.blocks[min(number, len(attached.blocks) - 1)]
    row = min(max(0, row), block.n_steps - 1)
    raw = None if pixels is None or not pixels.size else pixels.view(np.uint8).reshape(*pixels.shape, 4)[..., :3].copy()
    status = attached.status
    return Shown(
        f"game {slot}",
        max(0, int(status["running_length"][slot])),
        float(status["running_return"][slot]),
        raw,
        "" if raw is not None else "draws no picture",
        {leaf: rows[row + 1, slot].copy() for leaf, rows in block.obs.items()},
        int(attached.about.get("channels", 1)),
        _words(attached.about, [array[row, slot] for array in block.action.values()]),
    )


def _words(about: dict[str, Any], actions: list[Any]) -> str:
    """Return an action for people: a title's by its name and buttons, others as numbers."""
    names = about.get("actions")
    if names and len(actions) == 1 and np.ndim(actions[0]) == 0 and 0 <= int(actions[0]) < len(names):
        chosen = names[int(actions[0])]
        buttons = "+".join(chosen["buttons"])
        return str(chosen["name"]) if buttons in ("", chosen["name"]) else f"{chosen['name']} ({buttons})"
    numbers = [number for action in actions for number in np.ravel(action).tolist()]
    return " ".join(f"{number:.2f}".removesuffix(".00") for number in numbers)

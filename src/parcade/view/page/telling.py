"""What a running training tells of its games, as plain data: how far all are, and all of one."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from parcade.pool.block import Block
from parcade.view.attached import Attached
from parcade.view.page.choices import chances

_LARGEST_SEEN = 4096  # numbers of a vector that are sent
Floats = npt.NDArray[np.float32]


class Outcomes:
    """How each slot's last episode ended, found in the block while it still stands there."""

    def __init__(self, attached: Attached) -> None:
        self._attached = attached
        self._episode = attached.status["episode"].copy()
        self.last: list[dict[str, Any] | None] = [None] * attached.n_envs
        names = attached.about["metric_names"]
        self._success = names.index("success") if "success" in names else None

    def look(self) -> None:
        """Take over the ends of episodes since the last look."""
        episode = self._attached.status["episode"].copy()
        for slot in np.flatnonzero(episode != self._episode):
            found = self._found(int(slot), int(episode[slot]) - 1)
            if found is not None:
                self.last[slot] = found
        self._episode = episode

    def _found(self, slot: int, number: int) -> dict[str, Any] | None:
        for block in self._attached.blocks:
            rows = np.flatnonzero(block.ended[:, slot] & (block.ended_episode[:, slot] == number))
            if len(rows):
                row = int(rows[-1])
                success = None if self._success is None else float(block.metrics[row, slot, self._success])
                return {
                    "episode": number,
                    "return": plain(block.episode_return[row, slot]),
                    "length": int(block.episode_length[row, slot]),
                    "success": None if success is None or math.isnan(success) else success >= 0.5,
                }
        return None


def status_of(attached: Attached, outcomes: Outcomes) -> dict[str, Any]:
    """Return what the training does and how far every slot is."""
    status, last = attached.status, outcomes.last
    return {
        "kind": "status",
        "phase": attached.phase,
        "since_s": float(attached.told["since_s"][0]),
        "env_steps": int(attached.told["env_steps"][0]),
        "returns": [plain(value) for value in status["running_return"].tolist()],
        "lengths": np.maximum(status["running_length"], 0).tolist(),
        "episodes": status["episode"].tolist(),
        "last": [None if one is None else [one["return"], one["length"], one["success"]] for one in last],
    }


def detail_of(attached: Attached, slot: int, text: bytes) -> dict[str, Any]:
    """Return all that is known of one slot: what the worker told, and what the policy saw, expected and chose."""
    told: dict[str, Any] = json.loads(text)
    block = attached.blocks[min(max(0, int(told.get("block", 0))), len(attached.blocks) - 1)]
    row = min(max(0, int(told.get("row", 0))), block.n_steps - 1)
    return {
        "kind": "detail",
        "slot": slot,
        **told,
        "choice": chances(attached.about, block, row, slot),
        "value": plain(block.value[row, slot]) if len(block.value) else None,
        "values": [plain(value) for value in attached.told["values"][:, slot].tolist()],
        "vectors": vectors_of(block, row + 1, slot),
    }


def vectors_of(block: Block, row: int, slot: int) -> dict[str, list[float | None]]:
    """Return what the policy sees that is no picture, by leaf name."""
    return {
        leaf: [plain(value) for value in np.ravel(rows[row, slot])[:_LARGEST_SEEN].tolist()]
        for leaf, rows in block.obs.items()
        if not is_picture(rows)
    }


def pictures_of(block: Block, row: int, slot: int) -> dict[str, npt.NDArray[np.uint8]]:
    """Return the pictures the policy sees, (planes, height, width), by leaf name."""
    return {leaf: rows[row, slot].copy() for leaf, rows in block.obs.items() if is_picture(rows)}


def is_picture(rows: npt.NDArray[Any]) -> bool:
    """Whether an observation leaf (T + 1, N, ...) holds pictures."""
    return rows.dtype == np.uint8 and rows.ndim == 5 and rows.shape[3] > 1 and rows.shape[4] > 1


def plain(value: Any) -> float | None:
    """Return a number as JSON can hold it, with as many digits as anybody looks at."""
    number = float(value)
    return float(f"{number:.5g}") if math.isfinite(number) else None

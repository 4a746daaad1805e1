"""A running training as a viewer sees it: block and status to read, the showcase to ask through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from parcade.errors import RunError
from parcade.pool.block import Block
from parcade.pool.mapped import MappedArrays, is_held, layout_from_json
from parcade.pool.showcase import Showcase
from parcade.run.live import read_live
from parcade.run.lock import is_locked


class Attached:
    """The shared files of a training that runs in another process; nothing but the showcase can be written."""

    def __init__(self, about: dict[str, Any]) -> None:
        self.about = about
        self.n_envs, self.n_workers = int(about["n_envs"]), int(about["n_workers"])
        self._mapped = [_read_only(about["status"]), _read_only(about["told"])]
        self.status, self.told = (mapped.arrays for mapped in self._mapped)
        names = tuple(map(str, about["metric_names"]))
        self.blocks = [Block(_read_only(shared), names) for shared in about["blocks"]]
        self.showcase = Showcase.attach(about["showcase"]["path"], layout_from_json(about["showcase"]["layout"]))
        self.shares = [range(int(first), int(stop)) for first, stop in about["shares"]]
        if [0, *(slots.stop for slots in self.shares)] != [*(slots.start for slots in self.shares), self.n_envs]:
            raise ValueError("its workers do not hold each game exactly once")
        if self.showcase.n_envs != self.n_envs or any(block.n_envs != self.n_envs for block in self.blocks):
            raise ValueError("its files are for another number of games")

    def is_alive(self) -> bool:
        """Whether the training still runs."""
        return is_held(self.about["told"]["path"])

    @property
    def phase(self) -> str:
        """What the training does now."""
        phases, phase = self.about["phases"], int(self.told["phase"][0])
        return str(phases[phase]) if phase < len(phases) else ""

    def worker_of(self, slot: int) -> int:
        """Return the worker that plays a slot."""
        return next(worker for worker, slots in enumerate(self.shares) if slot in slots)

    def close(self) -> None:
        """Let all files go; twice is fine."""
        self.showcase.close()
        for mapped in (*self._mapped, *(block.mapped for block in self.blocks)):
            mapped.close()


def attach(run: Path) -> Attached | None:
    """Return the training that runs in this folder; None where none does, or where it was killed.

    Raise RunError, in one sentence, for a training that this version cannot look at.
    """
    try:
        about = read_live(run)
        if about is None:
            return None
        shared = [about["told"], about["status"], about["showcase"], *about["blocks"]]
        missing = [str(one["path"]) for one in shared if not is_held(str(one["path"]))]
        if missing and _still_trains(run):
            raise ValueError(f"its shared file {missing[0]} has vanished; the training itself goes on")
        return None if missing else Attached(about)
    except FileNotFoundError:
        return None  # it ended just now
    except (LookupError, TypeError, ValueError, OSError, AttributeError) as error:
        raise RunError(f"the training in {run} cannot be watched: {error}") from None


def _still_trains(run: Path) -> bool:
    """Whether a process holds the run and says that it can be watched: at its end it takes that back first."""
    return is_locked(run / "logs" / "lock") and read_live(run) is not None


def _read_only(shared: dict[str, Any]) -> MappedArrays:
    return MappedArrays.attach(shared["path"], layout_from_json(shared["layout"]), read_only=True)

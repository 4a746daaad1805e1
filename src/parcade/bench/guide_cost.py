"""What a guide costs a training: the same settings without and with it, in turns, so that a busy machine slows both."""

from __future__ import annotations

import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from parcade.bench.interleave import interleave, median_ratio
from parcade.bench.machine import machine
from parcade.bench.progress import Say, tell_stderr
from parcade.bench.train_speed import LEARNING_RATE, NO_EXTRAS
from parcade.bench.turns import TrainingTurns
from parcade.config.settings import TrainSettings, make_settings
from parcade.errors import SettingsError
from parcade.run.directory import RunFolder

WITHOUT, WITH, COACHED = "without a guide", "with the guide", "with guide and coach"
# Asked again as soon as an answer was due: the model is at work for nearly the whole time.
COACH = {"every": 30, "effect": 29, "episodes": 1}
# Lantern's way and one milestone that is always open.
LANTERN = {
    "milestones": [
        {"name": "room", "when": "rooms_seen >= 2"},
        {"name": "key", "when": "keys_taken >= 1"},
        {"name": "door", "when": "doors_opened >= 1"},
        {"name": "lantern", "when": "floors_cleared >= 1"},
        {"name": "fight", "when": "increased(kills) and hearts > 0", "after": []},
    ]
}


def bench_guide(
    *,
    guide: str | None = None,
    rounds: int = 20,
    seconds: float = 3.0,
    n_envs: int = 16,
    coach: bool = False,
    say: Say = tell_stderr,
    **given: Any,
) -> dict[str, Any]:
    """Measure; the keys stand in docs/bench.md. ``guide`` is a file; without one Lantern has one of five milestones.

    With ``coach`` a third training has one too: the server of ``llm``, or the small model on this machine's own cores.
    """
    if rounds < 1:
        raise SettingsError(f"rounds is {rounds}, wanted 1 or more")
    own = {"game": "lantern", "n_envs": n_envs, "n_steps": 64, "batch_size": 256, "learning_rate": LEARNING_RATE}
    fixed = {**NO_EXTRAS, **own, "total_timesteps": 1 << 40, **given}
    with ExitStack() as stack:
        root = stack.enter_context(tempfile.TemporaryDirectory())
        llm: dict[str, Any] = {name: fixed.pop(name) for name in ("llm", "llm_model") if name in fixed}
        kinds: dict[str, dict[str, Any]] = {WITHOUT: {}, WITH: {"guide": guide or LANTERN}}
        if coach:
            kinds[COACHED] = {"guide": guide or LANTERN, "coach": COACH, **llm}
        settings = {name: make_settings({**fixed, "log_root": root, **kind}) for name, kind in kinds.items()}
        folders = {name: RunFolder.create(root, name.replace(" ", "-")) for name in settings}
        turns = {name: _turns(one, folders[name], stack) for name, one in settings.items()}
        rates = interleave(turns, rounds, seconds, say)
        questions = len(list(Path(root, COACHED.replace(" ", "-")).glob("*/coach/*.json")))
    milestones = settings[WITH].guide
    assert milestones is not None
    return {
        "bench": "guide",
        "of_without": median_ratio(rates[WITH], rates[WITHOUT]),
        **({"coached_of_without": median_ratio(rates[COACHED], rates[WITHOUT])} if coach else {}),
        **({"coach_asks": llm.get("llm_model") or "the small model", "answers": questions} if coach else {}),
        "steps_per_s": {name: statistics.median(values) for name, values in rates.items()},
        "game": settings[WITH].game,
        "milestones": len(milestones["milestones"]),
        "rounds": rounds,
        "n_envs": n_envs,
        "machine": machine(),
    }


class CoachedTurns(TrainingTurns):
    """A training whose coach works only in the training's own turns: it must not slow what it is compared with."""

    def __init__(self, settings: TrainSettings, folder: RunFolder, stack: ExitStack) -> None:
        super().__init__(settings, folder, stack)
        while self.training.updates < COACH["every"]:
            self.turn(0.1)  # until the first question is under way

    def turn(self, seconds: float) -> float:
        """Let the coach go on, play and learn, and hold the coach again."""
        coach = self.training.rollouts.coach
        assert coach is not None
        coach.asking.hold(False)
        rate = super().turn(seconds)
        coach.asking.hold(True)
        return rate


def _turns(settings: TrainSettings, folder: RunFolder, stack: ExitStack) -> TrainingTurns:
    return (CoachedTurns if settings.coach else TrainingTurns)(settings, folder, stack)

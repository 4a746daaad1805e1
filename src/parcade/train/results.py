"""What a run leaves beside its curves: models, a summary and a report."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from gymnasium import spaces
from torch import Tensor

from parcade.config.settings import TrainSettings
from parcade.env.fingerprint import fingerprint
from parcade.env.make import find_rom, make_game
from parcade.env.milestones import told_milestones
from parcade.env.space_json import space_to_json
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.learn.algorithm import Algorithm
from parcade.run.checkpoint import write_making_room
from parcade.run.coach_record import coach_lines
from parcade.run.directory import RunFolder, manifest, write_json
from parcade.run.metrics import read_rows
from parcade.run.model_file import save_model
from parcade.run.report import write_report
from parcade.train.assembly import net_of
from parcade.train.evaluation import Evaluation
from parcade.train.go_on import eval_command, resume_command

log = logging.getLogger("parcade.train")
_REPORT_SHARE = 100  # a report while the run goes on may take one part in so many of the time


@dataclass(frozen=True, slots=True)
class TrainResult:
    """What a training came to."""

    run_dir: str
    env_steps: int
    episodes: int
    seconds: float  # of training itself, without evaluations
    steps_per_s: float
    episodes_per_s: float
    return_mean: float | None  # over the last 100 training episodes
    success_rate: float | None  # on unseen seeds where there was a final evaluation, else over the last 100 episodes
    train_success_rate: float | None
    evaluation: dict[str, Any] | None
    model: str
    worker_restarts: int
    interrupted: bool
    milestones: dict[str, float | None] = field(default_factory=dict)  # shares of the last 100 training episodes


def write_down(settings: TrainSettings, folder: RunFolder, spec: EnvSpec, eval_spec: EnvSpec) -> None:
    """Write what a run is; the settings last, for with them it can be resumed."""
    rom = find_rom(spec, make_game(spec)).sha1 if spec.game else None
    more: dict[str, Any] = {"trained_in": spec.label, "evaluated_in": eval_spec.label}
    more["milestones"] = [milestone._asdict() for milestone in told_milestones(spec)]
    if spec.state is not None:
        more["state_sha1"] = fingerprint(spec.state)
    try:
        write_json(folder.manifest, {**manifest(settings.model_dump(), rom), **more})
        write_json(folder.config, settings.model_dump(mode="json"))
    except OSError as error:
        raise SettingsError(f"a run cannot be stored in {folder.path}: {error.strerror}") from None


class _Best(NamedTuple):
    """A policy that was better than all before it."""

    score: float
    env_steps: int
    weights: dict[str, Tensor]


class Results:
    """Writes them into a run's folder."""

    def __init__(
        self,
        folder: RunFolder,
        settings: TrainSettings,
        spec: EnvSpec,
        algorithm: Algorithm,
        action_space: spaces.Space[Any],
    ) -> None:
        self._folder, self._settings, self._spec = folder, settings, spec
        self._algorithm, self._policy, self._action_space = algorithm, algorithm.policy, action_space
        self.best: float | None = None  # the score of best_model.zip as it stands on the disk
        self.milestones = told_milestones(spec)
        self._next_report_s = 0.0
        self._waiting: _Best | None = None  # a better one, which the disk had no room for
        self._waiting_is_told = False

    def use(self, spec: EnvSpec) -> None:
        """Write this env into what is written from now on: a coach has exchanged its guide."""
        self._spec, self.milestones = spec, told_milestones(spec)

    def save_model(self, name: str, env_steps: int) -> str:
        """Write the policy as it is now; return the file."""
        return self._save(name, self._policy.state_dict(), env_steps)

    def _save(self, name: str, weights: dict[str, Tensor], env_steps: int) -> str:
        path, meta = self._folder.models / name, self.model_meta(env_steps)
        write_making_room(self._folder.checkpoints, name, lambda: save_model(path, weights, meta))
        return str(path)

    def model_meta(self, env_steps: int) -> dict[str, Any]:
        """Return what has to be known beside the weights to play with them."""
        return {
            "env": self._spec.to_dict(),
            "leaves": {
                name: [list(leaf.shape), leaf.dtype, leaf.choices] for name, leaf in self._policy.leaves.items()
            },
            "action_space": space_to_json(self._action_space),
            "net": net_of(self._settings).to_dict(),
            "algorithm": self._algorithm.name,
            "env_steps": env_steps,
        }

    def offer_best(self, score: float, env_steps: int) -> None:
        """Write the policy as best_model.zip if its ``score`` is the best so far; on a full disk it waits in memory."""
        so_far = self._waiting.score if self._waiting is not None else self.best
        if math.isfinite(score) and (so_far is None or score > so_far):
            weights = {name: weight.detach().clone() for name, weight in self._policy.state_dict().items()}
            self._waiting = _Best(score, env_steps, weights)
            self.write_waiting_best()

    def write_waiting_best(self) -> None:
        """Write the best policy that waits for room, if any; its score counts once it is written."""
        waiting = self._waiting
        if waiting is None:
            return
        try:
            self._save("best_model.zip", waiting.weights, waiting.env_steps)
        except OSError as error:
            if not self._waiting_is_told:
                log.warning("best_model.zip could not be written (%s); it waits for room", error.strerror)
            self._waiting_is_told = True
            return
        self.best, self._waiting, self._waiting_is_told = waiting.score, None, False

    def keep_model(self, env_steps: int) -> None:
        """Keep the policy of this moment under a name of its own."""
        try:
            self.save_model(f"model_{env_steps:012d}.zip", env_steps)
        except OSError as error:
            log.warning("the model of step %d could not be written (%s)", env_steps, error.strerror)

    def write(self, result: TrainResult, final: Evaluation | None) -> None:
        """Write the report and, last, the summary: it says that nothing is left to do."""
        settings = self._settings
        summary = {
            **asdict(result),
            "run_name": settings.name,
            "game": settings.game or settings.env_id or settings.env_factory,
        }
        self._report(summary, final)
        write_making_room(self._folder.checkpoints, "summary.json", lambda: write_json(self._folder.summary, summary))

    def report_so_far(self, result: TrainResult, *, at_once: bool = False) -> None:
        """Write the report of a run that goes on, or that is about to fail; seldom enough to cost next to nothing."""
        started_s = time.monotonic()
        if not at_once and started_s < self._next_report_s:
            return
        settings = self._settings
        self._report({**asdict(result), "run_name": settings.name, "game": self._spec.label}, None)
        now_s = time.monotonic()
        self._next_report_s = now_s + _REPORT_SHARE * (now_s - started_s)

    def _report(self, summary: dict[str, Any], final: Evaluation | None) -> None:
        evaluated = {"eval_episodes": len(final.episodes)} if final else {}
        try:
            write_report(
                self._folder.path,
                metrics=list(read_rows(self._folder.metrics)),
                summary={**summary, **evaluated},
                config=self._settings.model_dump(mode="json"),
                pictures=list(final.pictures) if final else [],
                video="videos/final.mp4" if final and final.video else None,
                commands=(
                    eval_command(self._spec, self._folder.models / "best_model.zip"),
                    resume_command(self._spec, self._folder.path),
                ),
                milestones=[milestone._asdict() for milestone in self.milestones],
                coach=coach_lines(self._folder.path),
            )
        except OSError as error:
            log.warning("report.html could not be written: %s", error.strerror)

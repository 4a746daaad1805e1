"""Going on with a run that was stopped, and telling that one has nothing left to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from parcade.config.settings import make_settings
from parcade.console.rom import read_rom
from parcade.env.foreign import ForeignSpec
from parcade.env.judged import names_of
from parcade.env.spec import EnvSpec, Watch, without_old_grayscale
from parcade.errors import ModelFileError, RunError, SettingsError
from parcade.host.input_file import parse_json, read_input
from parcade.host.own_modules import refuse_while_importing
from parcade.run.checkpoint import Checkpoint, list_checkpoints, load_newest
from parcade.run.directory import RunFolder, faults_told
from parcade.train.events import Listener
from parcade.train.given import check_coach, env_spec
from parcade.train.opening import Machines
from parcade.train.python_env import PythonEnv, named_env
from parcade.train.results import TrainResult
from parcade.train.training import Training

LARGEST = 4 << 20  # of a run's config, manifest or summary
# What taking up a checkpoint raises where its content is wrong.
_UNFIT = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
)
_ENV_FIELDS = set(EnvSpec.__dataclass_fields__)


def resume(
    run_dir: str | Path,
    *,
    env: PythonEnv | None = None,
    on_event: Listener | None = None,
    watch: Watch | None = None,
    machines: Machines | None = None,
    **changes: Any,
) -> TrainResult:
    """Go on with an interrupted run from its newest checkpoint, with the numbers an unbroken run would have had.

    ``changes`` may set what has no influence on the numbers (``n_workers``, ``parallel_start_method``), or a larger
    ``total_timesteps``. A run with nothing left to do is not touched; its result is returned again. A module that the
    run's folder names (``game="my_game:MyGame"``, ``imports``) is imported only if ``changes`` name it too. A run that
    ``train(env=function)`` began needs the function again as ``env``.
    """
    refuse_while_importing("a training")
    named, factory = named_env(env)
    changes |= {name: value for name, value in named.items() if name != "env_factory"}
    done = finished(run_dir, **changes)
    if done is not None:
        return done
    folder = RunFolder.open(run_dir)
    kept = list_checkpoints(folder.checkpoints)
    if not kept and folder.summary.exists():  # a run writes its summary last: there was a checkpoint once
        raise RunError(
            f"{folder.path} has no checkpoint left to go on from; "
            f"`parcade train --model {folder.models / 'final_model.zip'}` starts a new run from its weights"
        )
    settings = make_settings({**_written_settings(folder), **changes})
    _check_origin(folder, changes, factory)
    check_coach(settings, changes, str(folder.config))
    with Training(settings, folder, on_event, watch, factory, machines) as training:
        take_up_newest(training, changes)
        return training.run()


def take_up_newest(training: Training, changes: Mapping[str, Any]) -> None:
    """Go back to the newest checkpoint of a training's folder, or to the beginning where there is none."""
    checkpoints = training.folder.checkpoints
    with faults_told(training.folder.path):
        if list_checkpoints(checkpoints):
            _take_up(training, load_newest(checkpoints), changes)
        else:
            training.start_over()


def _check_origin(folder: RunFolder, changes: dict[str, Any], factory: bytes | None) -> None:
    """Refuse to import or open what only the run's folder names, and to go on in another env than the run's."""
    written = make_settings(_written_settings(folder))
    if factory is not None and written.env_factory is None:
        trained = written.game or written.env_id
        raise SettingsError(f"the run in {folder.path} trains in {trained}; it cannot go on in the env of a function")
    foreign = ForeignSpec(env_spec(written, factory), str(folder.config))
    for field in ("game", "env_id"):
        other, own = changes.get(field), getattr(foreign.spec, field)
        if other is not None and other not in names_of(own):
            raise SettingsError(f"the run in {folder.path} trains in {foreign.label}; it cannot go on in {other}")
    noted = noted_sums(folder)
    spec = foreign.accepted({name: changes[name] for name in _ENV_FIELDS & set(changes)}, noted)
    if spec.rom is not None and noted["rom"] not in (None, read_rom(spec.rom).sha1):
        raise SettingsError(f"{spec.rom} is not the ROM this run began with (SHA-1 {noted['rom']}); give that one")


def noted_sums(folder: RunFolder) -> dict[str, str | None]:
    """Return the SHA-1s of ROM and save state that a run's manifest notes."""
    try:
        noted = parse_json(read_input(folder.manifest, LARGEST))
        return {"rom": noted.get("rom_sha1"), "state": noted.get("state_sha1")}
    except (OSError, ValueError, AttributeError):
        return {"rom": None, "state": None}


def _take_up(training: Training, checkpoint: Checkpoint, changes: Mapping[str, Any]) -> None:
    """Go back to a checkpoint; one that is whole but holds something else is told in one sentence."""
    try:
        _check_goal(checkpoint.meta["env_steps"], changes)
        training.take_up(checkpoint)
    except (*_UNFIT, ModelFileError) as error:
        what = str(error)[:300] if isinstance(error, ModelFileError) else f"{type(error).__name__}: {str(error)[:300]}"
        raise ModelFileError(
            f"the newest checkpoint in {training.folder.checkpoints} does not belong to this run: {what}; "
            "remove it to go on from the one before"
        ) from None


def _check_goal(env_steps: int, changes: Mapping[str, Any]) -> None:
    goal = changes.get("total_timesteps")
    if goal is not None and isinstance(env_steps, int) and goal < env_steps:
        raise SettingsError(f"total_timesteps is {goal:,}, but the run's checkpoint is at step {env_steps:,} already")


def finished(run_dir: str | Path, **changes: Any) -> TrainResult | None:
    """Return what a run came to if it has nothing left to do with these ``changes``, else None."""
    folder = RunFolder.open(run_dir)
    written = _written_settings(folder)
    settings = make_settings({**written, **changes})
    try:
        summary = parse_json(read_input(folder.summary, LARGEST))
        result = TrainResult(**{name: summary[name] for name in TrainResult.__dataclass_fields__ if name in summary})
    except (OSError, ValueError, KeyError, TypeError):
        return None  # the summary is the last thing a run writes
    if type(result.env_steps) is not int or type(result.episodes) is not int:
        return None  # nor did a run write this
    before = make_settings(written)
    other_end = (settings.final_eval_episodes, settings.video) != (before.final_eval_episodes, before.video)
    limit = settings.num_episodes
    enough = result.env_steps >= settings.total_timesteps or (limit is not None and result.episodes >= limit)
    if result.interrupted or other_end or not enough:
        return None
    return replace(result, run_dir=str(folder.path), model=str(folder.models / "final_model.zip"))


def _written_settings(folder: RunFolder) -> dict[str, Any]:
    try:
        written: dict[str, Any] = parse_json(read_input(folder.config, LARGEST))
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(f"{folder.config} cannot be read: {what}") from None
    if not isinstance(written, dict):
        raise SettingsError(f"{folder.config} holds a {type(written).__name__}, wanted settings by name")
    return without_old_grayscale(written)

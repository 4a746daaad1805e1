"""Every setting of a training, documented where it stands; config files, flags and Python arguments all end here."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

from parcade.config.fitting import N_STEPS, fitted, usual_envs, whole_number
from parcade.config.other_names import our_name
from parcade.errors import SettingsError
from parcade.host.input_file import short

ALIASES = {"timesteps": "total_timesteps", "start_method": "parallel_start_method"}
_FAULTS_TOLD = 10  # of one kind in one sentence
_DEFAULT_GAME = "lantern"
_BOTH = "game {!r} and env_id {!r} cannot both be given"
EnvChoice = Literal["features", "pixels", "both"]


def _setting(default: Any, group: str, text: str, **limits: Any) -> Any:
    return Field(default=default, description=text, json_schema_extra={"group": group}, **limits)


class TrainSettings(BaseModel):
    """What a training does. Frozen; what follows from it is computed, not stored."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), allow_inf_nan=False)

    game: str | None = _setting(None, "what", "a built-in title (see `parcade games`), or module:Class of your own")
    env_id: str | None = _setting(
        None, "what", "a Gymnasium id instead of a game, such as CartPole-v1; module:Id or module:Class of your own"
    )
    env_factory: str | None = _setting(
        None, "what", "the name of the function that Python gave to parcade.train(env=...); no file can hold it"
    )
    racing: Literal["fast", "official"] | None = _setting(
        None, "what", "CarRacing-v3 only: train on Parcade's fast renderer or on Gymnasium's own env [fast]"
    )
    rom: str | None = _setting(None, "what", "your ROM file; without game, its hash selects the title")
    state: str | None = _setting(
        None, "what", "save state that episodes start from; a folder gives each game one of its states in turn"
    )
    console: str = _setting(
        "auto",
        "what",
        "emulator: auto, pyboy, mgba, libretro (one process for each game) or one that you registered",
    )
    imports: tuple[str, ...] = _setting((), "what", "modules to import first, which register your Gymnasium ids")
    env_kwargs: dict[str, Any] = _setting({}, "what", "arguments for gymnasium.make, as key=value")
    game_options: dict[str, Any] = _setting({}, "what", "options of the title, as key=value (lantern: floors=1)")
    reward_weights: dict[str, float] = _setting({}, "what", "weights of the title's reward parts, as part=weight")
    model: str | None = _setting(None, "what", "model file whose weights the training starts from")

    observation: EnvChoice = _setting(
        "features", "observation", "what the policy sees of a game: features, pixels or both"
    )
    frame_skip: int | None = _setting(
        None, "observation", "frames per step, all counted [title: 6, env: 1]", ge=1, le=100_000
    )
    frames_stack: int = _setting(1, "observation", "number of last pictures that the policy sees", ge=1, le=64)
    grayscale: bool | None = _setting(None, "observation", "convert pictures to grey [games: on; Gymnasium envs: off]")
    picture_size: Literal["half", "full"] | None = _setting(
        None, "observation", "size of a game's pictures; half averages 2 x 2 pixels [half]"
    )
    crop: tuple[int, int, int, int] | None = _setting(
        None, "observation", "pixels to cut off before resize: top,right,bottom,left (Gymnasium envs)"
    )
    resize: tuple[int, int] | None = _setting(None, "observation", "resize pictures to height,width (Gymnasium envs)")
    reward_clip: float | None = _setting(
        None, "observation", "clip the reward of each step to +/- this value, in training only", gt=0
    )
    info_keys: tuple[str, ...] = _setting(
        (), "observation", "numbers of the last info to keep as metrics; is_success always is (Gymnasium envs)"
    )
    max_steps: int | None = _setting(None, "observation", "truncate an episode after this many steps", ge=1)
    action_scale: tuple[float, ...] | None = _setting(
        None, "observation", "multiply each action axis by this factor, such as 1,1,0.15 (Gymnasium envs)"
    )
    missed_tile_cost: float | None = _setting(
        None,
        "observation",
        "subtract this from the reward for each missed road tile, in training only (fast CarRacing)",
        ge=0,
    )
    patience: int | None = _setting(
        None,
        "observation",
        "end an episode after this many steps without a positive reward, in training only (Gymnasium envs)",
        ge=1,
    )

    n_envs: int | None = _setting(
        None,
        "parallel",
        "number of games that run at once [16 for each core; fewer if n_steps is large]",
        ge=1,
        le=65536,
    )
    n_workers: int | None = _setting(
        None, "parallel", "worker processes [one for each core]; 0 runs all games in this process", ge=0, le=65536
    )
    n_groups: int | None = _setting(
        None, "parallel", "groups of games that take turns when the policy is on a GPU [2; 1 for a single env]", ge=1
    )
    overlap: bool = _setting(
        False, "parallel", "play the next rollout during the update; its weights are one update old"
    )
    parallel_start_method: Literal["auto", "spawn", "fork", "forkserver"] = _setting(
        "auto", "parallel", "how Python starts worker processes"
    )
    worker_restarts: int = _setting(5, "parallel", "deaths in a row that each worker may have", ge=0)
    step_deadline_s: float = _setting(
        60.0, "parallel", "seconds without progress after which a worker is restarted", gt=0, le=1e6
    )
    pin_workers: bool | None = _setting(
        None, "parallel", "keep each worker on its own core [if there is one worker for each core]"
    )
    worker_memory_mb: int | None = _setting(None, "parallel", "memory limit of each worker, in MB", ge=64, le=1 << 30)

    total_timesteps: int = _setting(1_000_000, "ppo", "env steps to train, summed over all games", ge=1)
    num_episodes: int | None = _setting(
        None, "ppo", "stop after this many episodes, if they come before total_timesteps", ge=1
    )
    algorithm: Literal["ppo", "cloning"] = _setting("ppo", "ppo", "ppo learns from rewards, cloning from recorded play")
    demonstrations: str | None = _setting(None, "ppo", "file from `parcade record`, for cloning")
    learning_rate: float = _setting(1e-3, "ppo", "step size of Adam", gt=0)
    lr_schedule: Literal["constant", "linear"] = _setting(
        "linear", "ppo", "schedule of the learning rate; linear falls to zero at the end"
    )
    n_steps: int = _setting(
        N_STEPS, "ppo", "steps of each game in one rollout; titles use more when fewer games run", ge=1
    )
    batch_size: int = _setting(
        1024, "ppo", "rows of a minibatch [1,024 or the title's; at most a quarter of a rollout]", ge=2
    )
    n_epochs: int = _setting(4, "ppo", "passes over each rollout", ge=1)
    gamma: float = _setting(0.99, "ppo", "discount factor", ge=0, le=1)
    gae_lambda: float = _setting(0.95, "ppo", "lambda of generalised advantage estimation", ge=0, le=1)
    clip_range: float = _setting(0.2, "ppo", "clip range of the probability ratio", gt=0)
    clip_range_vf: float | None = _setting(None, "ppo", "clip range of the value estimate; unset: no clipping", gt=0)
    clip_schedule: Literal["constant", "linear"] = _setting(
        "constant", "ppo", "schedule of clip_range; linear falls to zero at the end"
    )
    ent_coef: float = _setting(0.01, "ppo", "weight of the entropy bonus", ge=0)
    vf_coef: float = _setting(0.5, "ppo", "weight of the value loss", ge=0)
    max_grad_norm: float = _setting(0.5, "ppo", "largest norm of the gradient; longer ones are scaled down", gt=0)
    normalize_advantage: bool = _setting(True, "ppo", "normalise advantages in each minibatch")
    target_kl: float | None = _setting(
        None, "ppo", "stop the passes of an update when the KL divergence exceeds 1.5 times this", gt=0
    )
    cnn: Literal["small", "nature", "impala"] = _setting("small", "ppo", "convolutional network for pictures")
    hidden: tuple[int, ...] | None = _setting(None, "ppo", "sizes of the hidden layers [128,128; none after a CNN]")
    activation: Literal["tanh", "relu"] = _setting("tanh", "ppo", "activation between hidden layers")
    lstm: int = _setting(0, "ppo", "size of the LSTM; 0: no LSTM", ge=0)
    normalize_obs: bool = _setting(
        False, "ppo", "normalise vector observations by their running mean and standard deviation"
    )
    normalize_return: bool = _setting(False, "ppo", "divide rewards by the running standard deviation of returns")
    box_policy: Literal["gaussian", "beta"] = _setting("gaussian", "ppo", "distribution of continuous actions")

    seed: int = _setting(0, "run", "run seed; the same seed gives the same numbers", ge=0, lt=2**31)
    run_name: str | None = _setting(None, "run", "name of the run's folder under log_root [the game's name]")
    log_root: str = _setting("results", "run", "folder for all runs")
    save_freq: int = _setting(10_000, "run", "env steps between checkpoints; 0: only at the end", ge=0)
    keep_checkpoints: int = _setting(3, "run", "number of checkpoints to keep", ge=1)
    keep_models: bool = _setting(False, "run", "keep a model of every checkpoint: models/model_<env steps>.zip")
    eval_freq: int = _setting(200_000, "run", "env steps between evaluations; 0: none", ge=0)
    n_eval_episodes: int = _setting(10, "run", "episodes of each evaluation during training", ge=1)
    final_eval_episodes: int = _setting(
        100, "run", "episodes of the evaluation at the end, on unseen seeds; 0: none", ge=0
    )
    eval_minutes: float = _setting(
        5.0, "run", "minutes after which an evaluation ends; the episodes that ended until then count", gt=0, le=1e6
    )
    eval_deterministic: bool = _setting(False, "run", "evaluate with the likeliest action instead of a sampled one")
    video: bool = _setting(True, "run", "write an mp4 of the trained agent at the end")
    device: Literal["auto", "cpu", "cuda", "mps"] = _setting("auto", "run", "device for the network")
    precision: Literal["auto", "float32", "bfloat16"] = _setting(
        "auto", "run", "precision of convolutions; auto is bfloat16 on CUDA devices that support it, else float32"
    )
    num_threads: int | None = _setting(
        None, "run", "threads for learning [pictures: one for each core; else 1]", ge=1, le=1024
    )

    @field_validator("resize", mode="before")
    @classmethod
    def _square(cls, value: Any) -> Any:
        """Accept one number for a square picture."""
        if isinstance(value, list | tuple) and len(value) == 1:
            return value[0], value[0]
        return _of_length(value, 2, "height,width")

    @field_validator("crop", mode="before")
    @classmethod
    def _four_sides(cls, value: Any) -> Any:
        return _of_length(value, 4, "top,right,bottom,left")

    @field_validator("reward_clip", mode="before")
    @classmethod
    def _symmetric(cls, value: Any) -> Any:
        """Accept yes (1), no, and a pair such as [-1, 1]."""
        if isinstance(value, bool):
            return 1.0 if value else None
        if isinstance(value, list | tuple) and len(value) == 2 and value[0] == -value[1]:
            return value[1]
        return value

    @field_validator("*", mode="before")
    @classmethod
    def _whole(cls, value: Any, info: ValidationInfo) -> Any:
        """Accept 1e6, 250k, 2M and lists such as 84,84 in files too: YAML takes them for text.

        It stands behind the others of its kind, because the last one runs first.
        """
        kind = cls.model_fields[str(info.field_name)].annotation
        if (
            isinstance(value, bool)
            and kind in (int, int | None, float, float | None)
            and info.field_name != "reward_clip"
        ):
            raise ValueError("wanted a number")
        if kind in (int, int | None) and isinstance(value, str):
            return whole_number(value)
        if "tuple" in str(kind) and isinstance(value, str | int) and not isinstance(value, bool):
            return words(str(value))
        return _path_like(value) if isinstance(value, str) else value

    @field_validator("run_name")
    @classmethod
    def _below_log_root(cls, value: str | None) -> str | None:
        if value is not None and (not value.strip() or value.startswith("/") or ".." in value.split("/")):
            raise ValueError("wanted the name of a folder below log_root")
        return value

    @field_validator("resize", "hidden")
    @classmethod
    def _positive(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if value and (min(value) < 1 or len(value) > 64):
            raise ValueError("wanted positive numbers, 64 at most")
        return value

    @field_validator("resize")
    @classmethod
    def _drawable(cls, value: tuple[int, int] | None) -> tuple[int, int] | None:
        if value is not None and max(value) > 4096:
            raise ValueError("wanted 4,096 or less a side")
        return value

    @field_validator("crop")
    @classmethod
    def _not_negative(cls, value: tuple[int, int, int, int] | None) -> tuple[int, int, int, int] | None:
        if value is not None and min(value) < 0:
            raise ValueError("wanted four numbers from 0 on")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> TrainSettings:
        if self.game is not None and self.env_id is not None:
            raise ValueError(_BOTH.format(self.game, self.env_id))
        if self.env_factory is not None and (self.game or self.env_id):
            raise ValueError(f"env_factory {self.env_factory!r} and {self.game or self.env_id!r} cannot both be given")
        rows = self.envs * self.n_steps
        if rows < 2:
            raise ValueError("one game and one step are no rollout to learn from; use more n_steps or n_envs")
        if self.batch_size > rows:
            raise ValueError(
                f"batch_size {self.batch_size} is larger than one rollout "
                f"(n_envs {self.envs} x n_steps {self.n_steps} = {rows})"
            )
        if self.groups > self.envs:
            raise ValueError(f"n_groups {self.n_groups} is more than n_envs {self.envs}")
        return self

    @property
    def envs(self) -> int:
        """How many games run at once."""
        return self.n_envs or usual_envs()

    @property
    def groups(self) -> int:
        """How many groups take turns; never depends on the number of workers."""
        return self.n_groups or min(2, self.envs)

    @property
    def name(self) -> str:
        """The run's name."""
        env = self.game or self.env_id or self.env_factory or "run"
        return self.run_name or re.sub(r"[/:<>]", "-", env)

    @property
    def rows_per_update(self) -> int:
        """Env steps of one rollout."""
        return self.envs * self.n_steps


def words(text: str) -> tuple[str, ...]:
    """Return the parts of a list with commas.

    >>> words("84, 84")
    ('84', '84')
    """
    return tuple(part for part in map(str.strip, text.split(",")) if part)


def make_settings(given: Mapping[str, Any], title_defaults: Mapping[str, Any] | None = None) -> TrainSettings:
    """Return checked settings; all faults are told at once in one sentence.

    ``given`` (what the user said) wins over ``title_defaults``. A batch larger than a rollout that the user did not
    ask for is fitted to the rollout.
    """
    known, faults = _sorted_out(given)
    values = {ALIASES.get(key, key): value for key, value in known.items()}
    if all(values.get(name) is None for name in ("game", "env_id", "env_factory")):
        values["game"] = _DEFAULT_GAME
    merged = {**(title_defaults or {}), **values}
    merged |= fitted(values, title_defaults or {}, merged)  # written down, so that another machine repeats the run
    try:
        settings = TrainSettings(**merged)
    except ValidationError as error:
        both = merged.get("game") and merged.get("env_id")  # not looked at while other settings have faults
        found = dict.fromkeys([*([_BOTH.format(merged["game"], merged["env_id"])] if both else []), *_sentences(error)])
        raise SettingsError("; ".join([*faults, *found])) from None
    if faults:
        raise SettingsError("; ".join(faults))
    return settings


def _sorted_out(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings we know, and a fault for each key we do not."""
    fields = TrainSettings.model_fields
    known = {key: value for key, value in given.items() if ALIASES.get(key, key) in fields}
    unknown = [key for key in given if key not in known]
    faults = [f"unknown key {short(key)}{our_name(str(key)[:100], fields)}" for key in unknown[:_FAULTS_TOLD]]
    if len(unknown) > _FAULTS_TOLD:
        faults.append(f"{len(unknown) - _FAULTS_TOLD:,} more unknown keys")
    return known, faults


def _path_like(text: str) -> str:
    """Return text that can be a file's name: no NUL, nothing that has no bytes."""
    if "\0" in text or len(text) > 4096:
        raise ValueError("wanted text without NUL, of 4,096 characters at most")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError("wanted text that can be written") from None
    return text


def _of_length(value: Any, length: int, names: str) -> Any:
    if isinstance(value, list | tuple) and len(value) != length:
        raise ValueError(f"wanted {length} numbers ({names})")
    return value


def _sentences(error: ValidationError) -> list[str]:
    faults = []
    for fault in error.errors(include_url=False)[:_FAULTS_TOLD]:
        where = ".".join(str(part) for part in fault["loc"])
        text = _in_our_words(fault["msg"].removeprefix("Value error, "))
        joint = ", " if text.startswith("wanted") else ": "
        faults.append(f"{where[:100]} is {short(fault['input'])}{joint}{text}" if where else text)
    return faults


def _in_our_words(text: str) -> str:
    """Return what the validator says as we say it.

    >>> _in_our_words("Input should be greater than or equal to 1")
    'wanted 1 or more'
    """
    for theirs, ours in _OUR_WORDS.items():
        text = re.sub(theirs, ours, text)
    return text[0].lower() + text[1:]


_OUR_WORDS = {
    r"^Input should be greater than or equal to (.*)": r"wanted \1 or more",
    r"^Input should be less than or equal to (.*)": r"wanted \1 or less",
    r"^Input should be greater than (.*)": r"wanted more than \1",
    r"^Input should be ": "wanted ",
}

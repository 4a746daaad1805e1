"""Every setting of a training, documented where it stands; config files, flags and Python arguments all end here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, ValidationError, ValidationInfo, field_validator, model_validator

from parcade.config.atari_fields import AtariFields
from parcade.config.coach_fields import CoachFields
from parcade.config.explore_fields import ExploreFields
from parcade.config.faults import FAULTS_TOLD, sentences
from parcade.config.fields import of_length, path_like, setting
from parcade.config.fitting import AUTO, MAY_BE_AUTO, N_STEPS, fitted, usual_envs, whole_number
from parcade.config.other_names import our_name
from parcade.config.run_fields import RunFields
from parcade.config.shard_fields import ShardFields, check_shards
from parcade.config.track_fields import TrackFields
from parcade.errors import SettingsError
from parcade.host.input_file import short

ALIASES = {"timesteps": "total_timesteps", "demos": "demonstrations", "start_method": "parallel_start_method"}
_DEFAULT_GAME = "lantern"
LARGEST_FLOAT, LARGEST_INT = 3.4e38, 10**18  # in 32 bits, and in 64
_BOTH = "game {!r} and env_id {!r} cannot both be given"
EnvChoice = Literal["features", "pixels", "both"]


class TrainSettings(RunFields, TrackFields, ExploreFields, CoachFields, AtariFields, ShardFields):
    """What a training does. Frozen; what follows from it is computed, not stored."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), allow_inf_nan=False)

    game: str | None = setting(None, "what", "a built-in title (see `parcade games`), or module:Class of your own")
    env_id: str | None = setting(
        None, "what", "a Gymnasium id instead of a game, such as CartPole-v1; module:Id or module:Class of your own"
    )
    env_factory: str | None = setting(
        None, "what", "the name of the function that Python gave to parcade.train(env=...); no file can hold it"
    )
    racing: Literal["fast", "official"] | None = setting(
        None, "what", "CarRacing-v3 only: train on Parcade's fast renderer or on Gymnasium's own env [fast]"
    )
    rom: str | None = setting(None, "what", "your ROM file; without game, its hash selects the title")
    state: str | None = setting(
        None, "what", "save state that episodes start from; a folder gives each game one of its states in turn"
    )
    console: str = setting(
        "auto",
        "what",
        "emulator: auto, pyboy, mgba, libretro (one process for each game) or one that you registered",
    )
    imports: tuple[str, ...] = setting((), "what", "modules to import first, which register your Gymnasium ids")
    env_kwargs: dict[str, Any] = setting({}, "what", "arguments for gymnasium.make, as key=value")
    game_options: dict[str, Any] = setting({}, "what", "options of the title, as key=value (lantern: floors=1)")
    reward_weights: dict[str, float] = setting({}, "what", "weights of the title's reward parts, as part=weight")
    guide: dict[str, Any] | None = setting(
        None, "what", "guide file: milestones of your own that pay and that the policy sees (docs/guide.md)"
    )
    model: str | None = setting(None, "what", "model file whose weights the training starts from")

    observation: EnvChoice = setting(
        "features", "observation", "what the policy sees of a game: features, pixels or both"
    )
    visited: bool = setting(
        False, "observation", "add a picture of the places visited in the episode, which is read from memory (titles)"
    )
    frame_skip: int | None = setting(
        None,
        "observation",
        "frames per step, all counted [the title's own, mostly 6; Gymnasium envs: 1]",
        ge=1,
        le=100_000,
    )
    frames_stack: int = setting(1, "observation", "number of last pictures that the policy sees", ge=1, le=64)
    grayscale: bool | None = setting(None, "observation", "convert pictures to grey [games: on; Gymnasium envs: off]")
    picture_size: Literal["half", "full"] | None = setting(
        None, "observation", "size of a game's pictures; half averages 2 x 2 pixels [half]"
    )
    crop: tuple[int, int, int, int] | None = setting(
        None, "observation", "pixels to cut off before resize: top,right,bottom,left (Gymnasium envs)"
    )
    resize: tuple[int, int] | None = setting(None, "observation", "resize pictures to height,width (Gymnasium envs)")
    reward_clip: float | None = setting(
        None, "observation", "clip the reward of each step to +/- this value, in training only", gt=0
    )
    info_keys: tuple[str, ...] = setting(
        (), "observation", "numbers of the last info to keep as metrics; is_success always is (Gymnasium envs)"
    )
    max_steps: int | None = setting(
        None, "observation", "truncate an episode after this many steps [the title's or the env's own limit]", ge=1
    )
    action_scale: tuple[float, ...] | None = setting(
        None, "observation", "multiply each action axis by this factor, such as 1,1,0.15 (Gymnasium envs)"
    )
    missed_tile_cost: float | None = setting(
        None,
        "observation",
        "subtract this from the reward for each missed road tile, in training only (fast CarRacing)",
        ge=0,
    )
    patience: int | None = setting(
        None,
        "observation",
        "end an episode after this many steps without a positive reward, in training only (Gymnasium envs)",
        ge=1,
    )

    n_envs: int | None = setting(
        None,
        "parallel",
        "number of games that run at once; auto: as measured by tune [16 for each core; fewer if n_steps is large]",
        ge=1,
        le=65536,
    )
    n_workers: int | None = setting(
        None,
        "parallel",
        "worker processes; 0 runs all games in this process, auto: as measured by tune [one for each core]",
        ge=0,
        le=65536,
    )
    follow_machine: bool = setting(
        False, "parallel", "move games between workers when a core is used by others or comes free; no number changes"
    )
    n_groups: int | None = setting(
        None, "parallel", "groups of games that take turns when the policy is on a GPU [2; 1 for a single env]", ge=1
    )
    overlap: bool = setting(
        False, "parallel", "play the next rollout during the update; its weights are one update old"
    )
    parallel_start_method: Literal["auto", "spawn", "fork", "forkserver"] = setting(
        "auto", "parallel", "how Python starts worker processes"
    )
    worker_restarts: int = setting(5, "parallel", "deaths in a row that each worker may have", ge=0)
    step_deadline_s: float = setting(
        60.0, "parallel", "seconds without progress after which a worker is restarted", gt=0, le=1e6
    )
    pin_workers: bool | None = setting(
        None, "parallel", "keep each worker on its own core [if there is one worker for each core]"
    )
    worker_memory_mb: int | None = setting(None, "parallel", "memory limit of each worker, in MB", ge=64, le=1 << 30)

    total_timesteps: int = setting(1_000_000, "ppo", "env steps to train, summed over all games", ge=1)
    num_episodes: int | None = setting(
        None, "ppo", "stop after this many episodes, if they come before total_timesteps", ge=1
    )
    algorithm: Literal["ppo", "cloning"] = setting("ppo", "ppo", "ppo learns from rewards, cloning from recorded play")
    demonstrations: str | None = setting(
        None, "ppo", "file of recorded episodes (`parcade play --record`, `parcade record`), for cloning"
    )
    learning_rate: float = setting(1e-3, "ppo", "step size of Adam", gt=0)
    lr_schedule: Literal["constant", "linear"] = setting(
        "linear", "ppo", "schedule of the learning rate; linear falls to zero at the end"
    )
    n_steps: int = setting(
        N_STEPS, "ppo", "steps of each game in one rollout; titles use more when fewer games run", ge=1
    )
    batch_size: int = setting(
        1024, "ppo", "rows of a minibatch [1,024 or the title's; at most a quarter of a rollout]", ge=2
    )
    n_epochs: int = setting(4, "ppo", "passes over each rollout", ge=1, le=1000)
    gamma: float = setting(0.99, "ppo", "discount factor", ge=0, le=1)
    gae_lambda: float = setting(0.95, "ppo", "lambda of generalised advantage estimation", ge=0, le=1)
    clip_range: float = setting(0.2, "ppo", "clip range of the probability ratio", gt=0)
    clip_range_vf: float | None = setting(None, "ppo", "clip range of the value estimate; unset: no clipping", gt=0)
    clip_schedule: Literal["constant", "linear"] = setting(
        "constant", "ppo", "schedule of clip_range; linear falls to zero at the end"
    )
    ent_coef: float = setting(0.01, "ppo", "weight of the entropy bonus", ge=0)
    ent_schedule: Literal["constant", "linear"] = setting(
        "constant", "ppo", "schedule of ent_coef; linear falls to zero at the end"
    )
    vf_coef: float = setting(0.5, "ppo", "weight of the value loss", ge=0)
    max_grad_norm: float = setting(0.5, "ppo", "largest norm of the gradient; longer ones are scaled down", gt=0)
    normalize_advantage: bool = setting(True, "ppo", "normalise advantages in each minibatch")
    target_kl: float | None = setting(
        None, "ppo", "stop the passes of an update when the KL divergence exceeds 1.5 times this", gt=0
    )
    shift_pixels: int = setting(
        0, "ppo", "move pictures by up to this many pixels and learn that nothing changes; 0: off", ge=0, le=64
    )
    cnn: Literal["small", "pooled", "nature", "impala"] = setting("small", "ppo", "convolutional network for pictures")
    hidden: tuple[int, ...] | None = setting(None, "ppo", "sizes of the hidden layers [128,128; none after a CNN]")
    activation: Literal["tanh", "relu"] = setting("tanh", "ppo", "activation between hidden layers")
    lstm: int = setting(0, "ppo", "size of the LSTM; 0: no LSTM", ge=0)
    normalize_obs: bool = setting(
        False, "ppo", "normalise vector observations by their running mean and standard deviation"
    )
    normalize_return: bool = setting(False, "ppo", "divide rewards by the running standard deviation of returns")
    box_policy: Literal["gaussian", "beta"] = setting("gaussian", "ppo", "distribution of continuous actions")

    @field_validator("resize", mode="before")
    @classmethod
    def _square(cls, value: Any) -> Any:
        """Accept one number for a square picture."""
        if isinstance(value, list | tuple) and len(value) == 1:
            return value[0], value[0]
        return of_length(value, 2, "height,width")

    @field_validator("guide", mode="before")
    @classmethod
    def _of_file(cls, value: Any) -> Any:
        """Read the file that is named: the guide itself is the setting, so that a run repeats without the file."""
        if not isinstance(value, str):
            return value
        from parcade.config.file import read_guide

        try:
            return read_guide(value)
        except SettingsError as error:
            raise ValueError(str(error)) from None

    @field_validator("crop", mode="before")
    @classmethod
    def _four_sides(cls, value: Any) -> Any:
        return of_length(value, 4, "top,right,bottom,left")

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
        return path_like(value) if isinstance(value, str) else value

    @field_validator("*")
    @classmethod
    def _held_by_32_and_64_bits(cls, value: Any) -> Any:
        """Refuse numbers that the network's own kind cannot hold, which would be infinite there, and endless ones."""
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
        if any(isinstance(part, float) and abs(part) > LARGEST_FLOAT for part in parts):
            raise ValueError(f"wanted numbers up to {LARGEST_FLOAT:g}")
        if any(isinstance(part, int) and abs(part) > LARGEST_INT for part in parts):
            raise ValueError(f"wanted whole numbers up to {LARGEST_INT:g}")
        return value

    @field_validator("hidden")
    @classmethod
    def _layers(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if value and (min(value) < 1 or len(value) > 64):
            raise ValueError("wanted 64 layers or fewer, each of 1 unit or more")
        return value

    @field_validator("resize")
    @classmethod
    def _drawable(cls, value: tuple[int, int] | None) -> tuple[int, int] | None:
        if value is not None and not 1 <= min(value) <= max(value) <= 4096:
            raise ValueError("wanted 1 to 4,096 pixels a side")
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
            raise ValueError("a rollout of one step of one game is too small to learn from; use more n_steps or n_envs")
        if self.batch_size > rows:
            raise ValueError(
                f"batch_size {self.batch_size} is larger than one rollout "
                f"(n_envs {self.envs} x n_steps {self.n_steps} = {rows})"
            )
        if self.follow_machine and self.overlap:
            raise ValueError("follow_machine and overlap cannot both be on: with overlap the learner is on every core")
        if self.groups > self.envs:
            raise ValueError(f"n_groups {self.n_groups} is more than n_envs {self.envs}")
        check_shards(self.shards, self.envs, self.batch_size, self.algorithm, self.learners)
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
    ask for is fitted to the rollout. ``auto`` is the default here; ``parcade.train.given`` looks for what was measured.
    """
    known, faults = _sorted_out(given)
    values = {ALIASES.get(key, key): value for key, value in known.items()}
    values = {name: value for name, value in values.items() if not (name in MAY_BE_AUTO and value == AUTO)}
    if all(values.get(name) is None for name in ("game", "env_id", "env_factory")):
        values["game"] = _DEFAULT_GAME
    merged = {**(title_defaults or {}), **values}
    merged |= fitted(values, title_defaults or {}, merged)  # written down, so that another machine repeats the run
    try:
        settings = TrainSettings(**merged)
    except ValidationError as error:
        both = merged.get("game") and merged.get("env_id")  # not looked at while other settings have faults
        found = dict.fromkeys([*([_BOTH.format(merged["game"], merged["env_id"])] if both else []), *sentences(error)])
        raise SettingsError("; ".join([*faults, *found])) from None
    if faults:
        raise SettingsError("; ".join(faults))
    return settings


def _sorted_out(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the settings we know, and a fault for each key we do not."""
    fields = TrainSettings.model_fields
    known = {key: value for key, value in given.items() if ALIASES.get(key, key) in fields}
    unknown = [key for key in given if key not in known]
    faults = [f"unknown key {short(key)}{our_name(str(key)[:100], fields)}" for key in unknown[:FAULTS_TOLD]]
    if len(unknown) > FAULTS_TOLD:
        faults.append(f"{len(unknown) - FAULTS_TOLD:,} more unknown keys")
    return known, faults

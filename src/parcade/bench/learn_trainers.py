"""The trainers of `bench learn`: ours, and SB3's with the same settings. One function evaluates what both trained."""

from __future__ import annotations

import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from gymnasium import spaces
from torch import nn

from parcade.bench.learn_envs import MASK
from parcade.bench.learn_tasks import Task
from parcade.bench.networks import sb3_policy
from parcade.bench.peers import LeanEnv
from parcade.bench.train_speed import NO_EXTRAS
from parcade.config.settings import TrainSettings, make_settings
from parcade.env.make import make
from parcade.env.slot import as_slot_env, fresh_rows, read_leaves
from parcade.env.spec import EnvSpec
from parcade.game.base import FIRST_HELD_OUT_SEED
from parcade.host.cores import usable_cores
from parcade.learn.single_actor import SingleActor
from parcade.run.directory import RunFolder
from parcade.train.events import Event, Updated
from parcade.train.training import Training

PACKAGES = {"PPO": "stable_baselines3", "RecurrentPPO": "sb3_contrib", "MaskablePPO": "sb3_contrib"}
Rows = Mapping[str, Any]
Tell = Callable[[int], None]  # told the env steps so far, now and then


class EnvActor(Protocol):
    """Chooses actions for one env."""

    def begin(self, episode_seed: int = 0) -> None:
        """Forget the episode before."""
        ...

    def __call__(self, rows: Rows) -> Any:
        """Return the action for one observation, given by leaf name."""
        ...


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained actor, and the steps and seconds of its training."""

    actor: EnvActor
    env_steps: int
    seconds: float


def settings_of(task: Task, changes: Mapping[str, Any], seed: int, env_steps: int) -> TrainSettings:
    """Return the settings of our training; those of the peer are read from the same object."""
    # Envs that cost microseconds are stepped here: a message to a worker would cost more. It changes no number.
    workers = {} if "game" in task.env else {"n_workers": 0}
    given = {**task.env, **task.settings, **workers, **changes, **NO_EXTRAS}
    return make_settings({**given, "seed": seed, "total_timesteps": env_steps})


def train_ours(task: Task, changes: Mapping[str, Any], seed: int, env_steps: int, tell: Tell) -> Trained:
    """Train as `parcade train` does, in a folder that is thrown away; Ctrl-C ends it at once."""

    def watch(event: Event) -> None:
        if isinstance(event, Updated):
            tell(event.row["env_steps"])

    with tempfile.TemporaryDirectory() as folder:
        settings = settings_of(task, changes, seed, env_steps).model_copy(update={"log_root": folder})
        started = time.perf_counter()
        with Training(settings, RunFolder.create(folder, "run"), watch) as training:
            training.begin()
            result = training.run()
        if result.interrupted:
            raise KeyboardInterrupt
        seconds = time.perf_counter() - started
        return Trained(
            SingleActor(training.policy, deterministic=task.deterministic, seed=seed), result.env_steps, seconds
        )


def peer_installed(task: Task) -> bool:
    """Return whether the task has a peer and its package is there."""
    return task.peer is not None and importlib.util.find_spec(PACKAGES[task.peer]) is not None


def train_peer(task: Task, seed: int, env_steps: int, tell: Tell) -> Trained:
    """Train the task's peer with the same settings, network, env and number of steps."""
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv

    class Progress(BaseCallback):
        """Tells where the training is."""

        def _on_step(self) -> bool:
            return True

        def _on_rollout_end(self) -> None:
            tell(self.num_timesteps)

    settings = settings_of(task, {}, seed, env_steps)
    pictures = task.env.get("observation") == "pixels"
    torch.set_num_threads(usable_cores() if pictures else 1)  # as ours
    started = time.perf_counter()
    vector_env = DummyVecEnv([_PeerFactory(task.spec())] * settings.envs)
    try:
        model = _peer_model(task, settings, vector_env)
        model.learn(env_steps, callback=Progress())
    finally:
        vector_env.close()
    seconds = time.perf_counter() - started
    return Trained(_PeerActor(task, model), int(model.num_timesteps), seconds)


def _peer_model(task: Task, settings: TrainSettings, vector_env: Any) -> Any:
    import stable_baselines3

    assert task.peer is not None
    module: Any = stable_baselines3 if task.peer == "PPO" else importlib.import_module(PACKAGES[task.peer])
    policy, arguments = _peer_policy(task, settings, vector_env.observation_space)
    return getattr(module, task.peer)(
        policy,
        vector_env,
        learning_rate=_schedule(settings.learning_rate, settings.lr_schedule, settings),
        clip_range=_schedule(settings.clip_range, settings.clip_schedule, settings),
        **{name: getattr(settings, name) for name in _SHARED},
        policy_kwargs=arguments,
        seed=settings.seed,
        device="cpu",
    )


_SHARED = ("n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "ent_coef", "vf_coef", "max_grad_norm")


def _schedule(start: float, kind: str, settings: TrainSettings) -> Callable[[float], float]:
    """Return SB3's schedule that gives each update what ours gives it: SB3 looks after a rollout, ours before it."""
    rollout = settings.rows_per_update / settings.total_timesteps
    return lambda left: start * min(1.0, left + rollout) if kind == "linear" else start


def _peer_policy(task: Task, settings: TrainSettings, space: spaces.Space[Any]) -> tuple[str, dict[str, Any]]:
    """Return SB3's policy name and the arguments that make its network ours."""
    if task.env.get("observation") == "pixels":
        return sb3_policy(f"{settings.cnn}-cnn")
    hidden = list(settings.hidden or ())
    activation = nn.Tanh if settings.activation == "tanh" else nn.ReLU
    arguments: dict[str, Any] = {"net_arch": {"pi": hidden, "vf": hidden}, "activation_fn": activation}
    if settings.lstm:
        memory = {"lstm_hidden_size": settings.lstm, "shared_lstm": True, "enable_critic_lstm": False}
        return "MlpLstmPolicy", {**arguments, **memory}
    return "MultiInputPolicy" if isinstance(space, spaces.Dict) else "MlpPolicy", arguments


class _PeerFactory:
    def __init__(self, spec: EnvSpec) -> None:
        self._spec = spec

    def __call__(self) -> LeanEnv:
        return _PeerEnv(self._spec)


class _PeerEnv(LeanEnv):
    """Our env as SB3 wants it: a mask is no part of the observation, but asked for."""

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__(spec)
        self.observation_space = _without_mask(self.observation_space)
        self._mask: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin, and keep the mask."""
        observation, info = super().reset(seed=seed, options=options)
        return self._split(observation), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step, and keep the mask."""
        observation, reward, terminated, truncated, info = super().step(action)
        return self._split(observation), reward, terminated, truncated, info

    def _split(self, observation: Any) -> Any:
        if isinstance(observation, dict) and MASK in observation:
            self._mask = observation.pop(MASK) != 0
        return observation

    def action_masks(self) -> Any:
        """Return which actions are allowed now, as MaskablePPO asks."""
        return self._mask


def _without_mask(space: spaces.Space[Any]) -> spaces.Space[Any]:
    if not isinstance(space, spaces.Dict):
        return space
    return spaces.Dict({name: part for name, part in space.spaces.items() if name != MASK})


class _PeerActor:
    """A trained SB3 model that acts on rows as ours does."""

    def __init__(self, task: Task, model: Any) -> None:
        self._model, self._task = model, task
        self._space: spaces.Space[Any] = model.observation_space
        self.begin()

    def begin(self, episode_seed: int = 0) -> None:
        self._state: Any = None
        self._first = True

    def __call__(self, rows: Rows) -> Any:
        options: dict[str, Any] = {"deterministic": self._task.deterministic}
        if self._task.peer == "MaskablePPO":
            options["action_masks"] = rows[MASK] != 0
        elif self._task.peer == "RecurrentPPO":
            options |= {"state": self._state, "episode_start": [self._first]}
        action, self._state = self._model.predict(read_leaves(self._space, rows), **options)
        self._first = False
        return action.item() if action.ndim == 0 else action  # FrozenLake looks actions up in a dict


@torch.inference_mode()
def play(actor: EnvActor, spec: EnvSpec, task: Task) -> float:
    """Return the mean score over the task's held-out seeds: return, or share of successes."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    env = as_slot_env(make(spec))
    rows = fresh_rows(env.observation_space)
    scores = []
    try:
        for index in range(task.episodes):
            env.begin(FIRST_HELD_OUT_SEED + index, rows)
            actor.begin(FIRST_HELD_OUT_SEED + index)
            total, ended = 0.0, False
            while not ended:
                reward, terminated, truncated = env.advance(actor(rows), rows)
                total, ended = total + reward, terminated or truncated
            if task.score == "success":
                total = float(env.episode_metrics()[env.metric_names.index("success")])
            scores.append(total)
    finally:
        env.close()
        torch.set_num_threads(threads)
    return statistics.fmean(scores)

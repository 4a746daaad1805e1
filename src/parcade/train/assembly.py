"""From settings to parts: the env, the pool, the network and the algorithm of a training."""

from __future__ import annotations

import logging
import math
import os
from dataclasses import fields
from typing import Any, TypeVar

import torch
from gymnasium import spaces

from parcade.config.file import read_config
from parcade.config.fitting import usual_envs
from parcade.config.settings import TrainSettings, make_settings
from parcade.console.rom import read_rom
from parcade.env.foreign import check_config_modules
from parcade.env.judged import completed, trained_as
from parcade.env.make import make_game, title_of_rom
from parcade.env.slot import leaf_choices, leaves
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.host.cores import usable_cores
from parcade.learn.algorithm import Algorithm
from parcade.learn.encoders import LeafShape
from parcade.learn.imitation import Cloning, CloningSettings, Demonstrations
from parcade.learn.loss import PpoSettings
from parcade.learn.normalise import ReturnScaler
from parcade.learn.policy import NetSettings, Policy
from parcade.learn.ppo import Ppo
from parcade.pool.opening import open_pool
from parcade.pool.pool import Pool
from parcade.run.demonstration_file import load_demonstrations
from parcade.train.network_size import check_network

AnySettings = TypeVar("AnySettings")
log = logging.getLogger("parcade.train")


def with_title(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the title that the ROM belongs to, where a ROM was given and no game named."""
    rom = given.get("rom")
    if not isinstance(rom, str) or given.get("game") is not None or given.get("env_id") is not None:
        return given
    return {**given, "game": title_of_rom(read_rom(rom))}


def settings_for(given: dict[str, Any]) -> TrainSettings:
    """Return settings with the title's own recommendations under what the user gave."""
    given = completed(with_title(given))
    settings = make_settings(given)
    if settings.env_factory is None:
        spec = env_spec(settings)  # refuses settings that are not for this env
        title = {} if settings.game is None else make_game(spec).training
    else:
        title = {}
    settings = make_settings(given, title)
    if given.get("n_envs") is None and settings.envs < int(title.get("n_envs") or usual_envs()):
        log.warning(
            "n_envs is %d, because n_steps is %s: an update has %s steps; give n_envs for another number",
            *(settings.envs, f"{settings.n_steps:,}", f"{settings.rows_per_update:,}"),
        )
    return settings


def settings_of_file(path: str, flags: dict[str, Any]) -> TrainSettings:
    """Return the settings of a config file with the user's flags over them; its modules are checked, then imported."""
    given = {**read_config(path), **flags}
    check_config_modules(env_spec(make_settings(given)), flags, f"the config file {path}")
    return settings_for(given)


def env_spec(settings: TrainSettings, factory: bytes | None = None) -> EnvSpec:
    """Return the env a training runs in; ``factory`` is the pickled function that ``env_factory`` names.

    Settings that are not for this env raise SettingsError.
    """
    if settings.env_factory is not None and factory is None:
        raise SettingsError(
            f"env_factory {settings.env_factory!r} is a function in Python, which no file can hold; "
            "give it with env= to parcade.train, parcade.resume or parcade.evaluate"
        )
    names = set(EnvSpec.__dataclass_fields__) & set(TrainSettings.model_fields)
    spec = EnvSpec(**{name: getattr(settings, name) for name in names}, factory=factory)
    return trained_as(spec, settings.racing)


def pool_of(spec: EnvSpec, settings: TrainSettings) -> Pool:
    """Return the games, in processes of their own or, without workers, in this one."""
    return open_pool(
        spec,
        settings.envs,
        n_workers=settings.n_workers,
        seed=settings.seed,
        n_groups=1 if device_of(settings).type == "cpu" else settings.groups,
        pin_workers=settings.pin_workers,
        preload=_preload(settings),
        **process_options(settings),
    )


def process_options(settings: TrainSettings) -> dict[str, Any]:
    """Return how worker processes are started, watched and bounded, for training and for evaluations alike."""
    return {
        "start_method": settings.parallel_start_method,
        "restarts": settings.worker_restarts,
        "step_deadline_s": settings.step_deadline_s,
        "memory_limit_mb": settings.worker_memory_mb,
    }


def _preload(settings: TrainSettings) -> tuple[str, ...]:
    """Return what the fork server imports once for all workers: torch, where their actor will need it."""
    sees_pictures = settings.observation != "features" or settings.frames_stack > 1 or settings.resize is not None
    acts_there = device_of(settings).type == "cpu"
    return ("parcade.learn.torch_actor",) if acts_there and (sees_pictures or settings.lstm) else ()


def leaf_shapes(space: spaces.Space[Any]) -> dict[str, LeafShape]:
    """Return what a policy has to know of each leaf of an observation space."""
    choices = leaf_choices(space)
    return {name: LeafShape(shape, str(dtype), choices.get(name, ())) for name, (shape, dtype) in leaves(space).items()}


def policy_of(settings: TrainSettings, pool: Pool) -> Policy:
    """Return the network with its first weights, on its device."""
    shapes = leaf_shapes(pool.observation_space)
    room = 0.6 * _memory() / 4  # beside the weights there are gradients and Adam's two moments
    check_network(shapes, pool.action_space, net_of(settings), room)
    with torch.random.fork_rng(devices=[]):  # initial weights from the run's seed, the user's own state untouched
        torch.manual_seed(settings.seed)
        policy = Policy(shapes, pool.action_space, net_of(settings))
    device = device_of(settings)
    # On CPUs bfloat16 is slower than float32, on cards with units for it faster.
    is_quick = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    policy.use_bfloat16(is_quick if settings.precision == "auto" else settings.precision == "bfloat16")
    return policy.to(device)


def learning_threads(policy: Policy) -> int:
    """Return all cores for pictures; a small network on vectors only waits for a second thread."""
    return usable_cores() if policy.has_pictures else 1


def warnings_for(settings: TrainSettings, policy: Policy) -> list[str]:
    """Return what the user may not have meant: settings without effect, and more threads than cores."""
    found = []
    if settings.rows_per_update > settings.total_timesteps:
        found.append(
            f"one rollout (n_envs {settings.envs} x n_steps {settings.n_steps:,} = {settings.rows_per_update:,}) is "
            f"longer than total_timesteps {settings.total_timesteps:,}: the policy learns once; use fewer of either"
        )
    if not policy.has_pictures:
        for name in ("cnn", "precision"):
            value = getattr(settings, name)
            if value != TrainSettings.model_fields[name].default:
                found.append(f"{name} {value} has no effect: the env shows no pictures")
    if (settings.num_threads or 0) > usable_cores():
        found.append(
            f"num_threads is {settings.num_threads}, but {usable_cores()} cores can be used: learning gets slower"
        )
    return found


def device_of(settings: TrainSettings) -> torch.device:
    """Return where the network learns."""
    wanted = settings.device
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available[wanted]:
        here = ", ".join(name for name, there in available.items() if there)
        raise SettingsError(f"device {wanted!r} is not available on this machine; available: {here}")
    return torch.device(wanted)


def net_of(settings: TrainSettings) -> NetSettings:
    """Return what decides the shape of the network."""
    return NetSettings(
        settings.cnn, settings.hidden, settings.activation, settings.box_policy, settings.lstm, settings.normalize_obs
    )


def algorithm_of(settings: TrainSettings, policy: Policy) -> Algorithm:
    """Return what trains the policy."""
    seed = settings.seed * 2 + 2
    if settings.algorithm == "cloning":
        if settings.demonstrations is None:
            raise SettingsError("algorithm cloning needs demonstrations; record some with `parcade record`")
        obs, actions, _ = load_demonstrations(settings.demonstrations)
        return Cloning(policy, _taken(CloningSettings, settings), Demonstrations(obs, actions), seed)
    scaler = ReturnScaler(settings.envs, settings.gamma) if settings.normalize_return else None
    return Ppo(policy, _taken(PpoSettings, settings), seed, return_scaler=scaler)


def _taken(kind: type[AnySettings], settings: TrainSettings) -> AnySettings:
    """Return the settings of an algorithm, which have the same names as the training's."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: getattr(settings, name) for name in names})


def check_memory(settings: TrainSettings, space: spaces.Space[Any]) -> None:
    """Refuse a rollout that this machine cannot hold."""
    seen = sum(math.prod(shape) * dtype.itemsize for shape, dtype in leaves(space).values())
    blocks = 2 if settings.overlap else 1
    n_bytes = blocks * settings.n_steps * settings.envs * (seen + 150)  # rewards, values and the like: about 150
    memory = _memory()
    if n_bytes > memory * 0.6:
        raise SettingsError(
            f"a rollout of n_steps {settings.n_steps:,} x n_envs {settings.envs} takes {n_bytes / 2**30:,.1f} GiB, and "
            f"this machine has {memory / 2**30:.0f}; use fewer"
        )


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

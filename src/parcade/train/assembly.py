"""From settings to parts: the pool, the network and the algorithm of a training."""

from __future__ import annotations

import math
import os
from dataclasses import fields
from typing import Any, TypeVar

import torch
from gymnasium import spaces

from parcade.config.settings import TrainSettings
from parcade.env.slot import leaf_choices, leaves
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.host.cores import usable_cores
from parcade.learn.actors import worker_modules
from parcade.learn.algorithm import Algorithm
from parcade.learn.cloned_first import ClonedFirst
from parcade.learn.encoders import LeafShape
from parcade.learn.exchange import Exchange, LocalExchange
from parcade.learn.flat import FlatParameters
from parcade.learn.imitation import Cloning, CloningSettings, check_clonable
from parcade.learn.loss import PpoSettings
from parcade.learn.normalise import ReturnScaler
from parcade.learn.policy import NetSettings, Policy
from parcade.learn.ppo import Ppo
from parcade.learn.sampling import sampler_for
from parcade.learn.sharded_ppo import ShardedPpo
from parcade.pool.opening import open_pool
from parcade.pool.pool import Pool
from parcade.train.demonstrations import Progress, demonstrations_for, load_demos, seen_spec
from parcade.train.network_size import check_network

AnySettings = TypeVar("AnySettings")


def pool_of(spec: EnvSpec, settings: TrainSettings, **places: Any) -> Pool:
    """Return the games, in processes of their own or, without workers, in this one.

    ``places`` are ``weights`` and ``cpus`` of the workers, where they are not all alike.
    """
    return open_pool(
        spec,
        settings.envs,
        n_workers=settings.n_workers,
        seed=settings.seed,
        n_groups=1 if device_of(settings).type == "cpu" else settings.groups,
        pin_workers=settings.pin_workers,
        preload=worker_modules(needs_torch=_will_need_torch(settings)),
        **process_options(settings),
        **places,
    )


def process_options(settings: TrainSettings) -> dict[str, Any]:
    """Return how worker processes are started, watched and bounded, for training and for evaluations alike."""
    return {
        "start_method": settings.parallel_start_method,
        "restarts": settings.worker_restarts,
        "step_deadline_s": settings.step_deadline_s,
        "memory_limit_mb": settings.worker_memory_mb,
    }


def _will_need_torch(settings: TrainSettings) -> bool:
    """Whether the workers' actor will need torch, as far as settings tell before there is an env."""
    shows_pictures = (
        *(settings.observation != "features", settings.visited, settings.racing is not None, settings.max_over_frames),
        *(settings.frames_stack > 1, settings.resize is not None, settings.crop is not None, bool(settings.grayscale)),
        (settings.env_id or "").startswith("ALE/"),
    )
    return device_of(settings).type == "cpu" and (any(shows_pictures) or bool(settings.lstm))


def leaf_shapes(space: spaces.Space[Any]) -> dict[str, LeafShape]:
    """Return what a policy has to know of each leaf of an observation space."""
    choices = leaf_choices(space)
    return {name: LeafShape(shape, str(dtype), choices.get(name, ())) for name, (shape, dtype) in leaves(space).items()}


def policy_of(settings: TrainSettings, seen: spaces.Space[Any], actions: spaces.Space[Any]) -> Policy:
    """Return the network for an env's spaces with its first weights, on its device."""
    shapes = leaf_shapes(seen)
    room = 0.6 * _memory() / 4  # beside the weights there are gradients and Adam's two moments
    check_network(shapes, actions, net_of(settings), room)
    with torch.random.fork_rng(devices=[]):  # initial weights from the run's seed, the user's own state untouched
        torch.manual_seed(settings.seed)
        policy = Policy(shapes, actions, net_of(settings))
    device = device_of(settings)
    # On CPUs bfloat16 is slower than float32, on cards with units for it faster.
    is_quick = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    policy.use_bfloat16(is_quick if settings.precision == "auto" else settings.precision == "bfloat16")
    return policy.to(device)


def learning_threads(policy: Policy, shards: int = 1) -> int:
    """Return all cores for pictures; a small network on vectors only waits for a second thread.

    The last bits of a gradient depend on the threads: with shards, which any machine may hold, there is one.
    """
    return usable_cores() if policy.has_pictures and shards == 1 else 1


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
    if settings.box_policy != "gaussian" and not isinstance(policy.action_space, spaces.Box):
        found.append(f"box_policy {settings.box_policy} has no effect: the actions are {policy.action_space}, no Box")
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


def algorithm_of(
    settings: TrainSettings, policy: Policy, spec: EnvSpec, on_progress: Progress | None = None
) -> Algorithm:
    """Return what trains the policy; ``on_progress`` hears how far demonstrations have been played again."""
    seed = settings.seed * 2 + 2
    if settings.algorithm == "cloning":
        return _cloning_of(settings, policy, spec, seed, on_progress)
    ppo = (
        sharded_ppo(settings, policy, LocalExchange(settings.shards))
        if settings.shards > 1
        else ppo_of(settings, policy)
    )
    if settings.demonstrations is None or not settings.clone_updates:
        return ppo
    cloning = _cloning_of(settings, policy, spec, seed, on_progress, ppo.flat)
    return ClonedFirst(cloning, ppo, settings.clone_updates)


def ppo_of(settings: TrainSettings, policy: Policy) -> Ppo:
    """Return what trains all games of a training without shards."""
    scaler = ReturnScaler(settings.envs, settings.gamma) if settings.normalize_return else None
    return Ppo(policy, _taken(PpoSettings, settings), settings.seed * 2 + 2, return_scaler=scaler)


def sharded_ppo(settings: TrainSettings, policy: Policy, exchange: Exchange) -> ShardedPpo:
    """Return what trains the shards that ``exchange`` says are held here."""
    taken, seed = _taken(PpoSettings, settings), settings.seed * 2 + 2
    envs, scales = settings.envs // settings.shards, settings.normalize_return
    return ShardedPpo(policy, taken, exchange, envs, seed, scales_returns=scales)


def check_demonstrations(settings: TrainSettings, spec: EnvSpec) -> None:
    """Refuse recorded play that is missing, damaged or of another game, before any game starts."""
    if settings.demonstrations is not None:
        for record in load_demos(settings.demonstrations):
            seen_spec(record, spec, settings.demonstrations)
    elif settings.algorithm == "cloning":
        raise SettingsError(
            "algorithm cloning needs demonstrations; record some with `parcade play --record` or `parcade record`"
        )


def _cloning_of(
    settings: TrainSettings,
    policy: Policy,
    spec: EnvSpec,
    seed: int,
    on_progress: Progress | None,
    flat: FlatParameters | None = None,
) -> Cloning:
    check_clonable(policy)
    sampler, file = sampler_for(policy.action_space, policy.net.box), str(settings.demonstrations)
    shown = demonstrations_for(load_demos(file), spec.with_(watch=None), sampler, file, on_progress)
    return Cloning(policy, _taken(CloningSettings, settings), shown, seed, flat)


def _taken(kind: type[AnySettings], settings: TrainSettings) -> AnySettings:
    """Return the settings of an algorithm, which have the same names as the training's."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: getattr(settings, name) for name in names})


def check_memory(settings: TrainSettings, space: spaces.Space[Any]) -> None:
    """Refuse a rollout that this machine cannot hold."""
    seen = sum(math.prod(shape) * dtype.itemsize for shape, dtype in leaves(space).values())
    blocks = (2 if settings.overlap else 1) + (settings.shards > 1)  # shards of one block are copied apart
    n_bytes = blocks * settings.n_steps * settings.envs * (seen + 150)  # rewards, values and the like: about 150
    memory = _memory()
    if n_bytes > memory * 0.6:
        raise SettingsError(
            f"a rollout of n_steps {settings.n_steps:,} x n_envs {settings.envs} takes {n_bytes / 2**30:,.1f} GiB, and "
            f"this machine has {memory / 2**30:.0f}; use fewer"
        )


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

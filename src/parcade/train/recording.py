"""Recording the episodes of a trained model or of a bot, for others to learn from."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from parcade.env.judged import evaluated_as
from parcade.env.make import make
from parcade.env.recorded import metrics_now
from parcade.env.slot import as_slot_env, fresh_rows, leaves, owned_action, read_leaves, write_leaves
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, SettingsError, StartsWhenImportedError
from parcade.game.titles import find_modules_here
from parcade.host.own_modules import import_own
from parcade.host.wording import counted
from parcade.learn.policy import Policy
from parcade.pool.seeding import NumberedEpisodes
from parcade.run.episodes import EpisodeRecord, compact, write_episodes
from parcade.train.ended import record_of, whole_episodes
from parcade.train.episode_parts import first_seed, judged, playing, pool_for, slots_for
from parcade.train.origin import origin_of
from parcade.train.policy_file import load_policy

log = logging.getLogger("parcade.train")
_STEPS = 64  # of a fragment
Bot = Callable[[gym.Env[Any, Any]], Callable[[Any], Any]]  # of an env: what chooses an action for an observation


def record(
    model: str | Path,
    path: str | Path,
    *,
    episodes: int = 10,
    seed: int = 0,
    deterministic: bool = False,
    n_workers: int | None = None,
    **changes: Any,
) -> list[EpisodeRecord]:
    """Play a model on unseen seeds, write its episodes to a file and return them."""
    _check(episodes)
    policy, foreign = load_policy(model)
    spec = evaluated_as(foreign.accepted(changes), "fast")
    found = record_policy(policy, spec, episodes, seed, deterministic, n_workers)
    if not found:
        raise EnvError(f"none of the {counted(episodes, 'episode')} of {spec.label} could be played to its end")
    write_episodes(Path(path), found)
    return found


def record_policy(
    policy: Policy, spec: EnvSpec, episodes: int, seed: int, deterministic: bool, n_workers: int | None
) -> list[EpisodeRecord]:
    """Return the episodes of a policy in the order of their seeds, the same for any number of workers."""
    n_slots = slots_for(spec, episodes, n_workers)
    numbered = NumberedEpisodes(first_seed(seed), n_slots, episodes)
    spec = judged(spec)
    origin, found = origin_of(spec, "model"), dict[int, EpisodeRecord]()
    with pool_for(policy, spec, numbered, n_slots, n_workers) as pool:
        actor, weights = playing(policy, pool, spec, deterministic)
        pool.reset()
        while not numbered.are_over(pool.status["episode"]):
            block = pool.play(actor, weights, seed, _STEPS)
            for episode in whole_episodes(pool, block.episodes()):
                found[numbered.number(episode.slot, episode.number)] = record_of(pool, block, episode, origin)
    if len(found) < episodes:
        log.warning("%d of %d episodes were cut by crashes and are left out", episodes - len(found), episodes)
    return [found[number] for number in sorted(found)]


def record_bot(bot: Bot, spec: EnvSpec, path: str | Path, *, episodes: int = 10, seed: int = 0) -> list[EpisodeRecord]:
    """Play a bot on unseen seeds, write its episodes to a file and return them.

    ``bot`` is called with the env at the start of each episode and returns a function from observations to actions. It
    may read what it likes of the env (``env.unwrapped.console``, ``env.unwrapped.state``), but must not change it.
    """
    _check(episodes)
    spec = judged(evaluated_as(spec, "fast"))
    origin, env = origin_of(spec, "bot"), make(spec)
    try:
        found = [_played(bot, env, spec, first_seed(seed) + number, origin) for number in range(episodes)]
    finally:
        env.close()
    write_episodes(Path(path), found)
    return found


def find_bot(name: str) -> Bot:
    """Return the bot ``module:name`` of the user's own; the module may lie in the current folder."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise SettingsError(f"the bot is {name!r}, wanted module:name, such as my_bot:play")
    find_modules_here()
    try:
        found: Bot = getattr(import_own(module), attribute)
    except StartsWhenImportedError:
        raise
    except Exception as error:  # a module of the user's own may raise anything while it is imported
        raise SettingsError(f"the bot {name} cannot be loaded: {type(error).__name__}: {error}") from None
    if not callable(found):
        raise SettingsError(f"the bot {name} is a {type(found).__name__}, wanted a function that takes an env")
    return found


def _played(bot: Bot, env: gym.Env[Any, Any], spec: EnvSpec, seed: int, origin: Any) -> EpisodeRecord:
    """Play one episode step by step as a worker would."""
    slot_env = as_slot_env(env, spec.info_keys)
    space, rows = slot_env.action_space, fresh_rows(slot_env.observation_space)
    slot_env.begin(seed, rows)
    act, taken, total = bot(env), list[dict[str, Any]](), 0.0
    terminated = truncated = False
    while not terminated and not truncated:
        choice = act(read_leaves(slot_env.observation_space, rows))
        if not space.contains(choice) and not space.contains(np.asarray(choice)):
            raise EnvError(f"the bot chose {choice!r}, which is no action of {space}")
        action = fresh_rows(space)
        write_leaves(space, choice, action)
        reward, terminated, truncated = slot_env.advance(owned_action(space, read_leaves(space, action)), rows)
        total += reward
        taken.append(action)
    actions = {leaf: np.stack([one[leaf] for one in taken]) for leaf in leaves(space)}
    return EpisodeRecord(
        origin, seed, compact(actions), len(taken), total, terminated, truncated, metrics_now(slot_env)
    )


def _check(episodes: int) -> None:
    if episodes < 1:
        raise SettingsError(f"episodes is {episodes}, wanted 1 or more")

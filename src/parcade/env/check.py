"""What is wrong with a user's env, and what to do about it."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from parcade.env.check_play import CheckedEnv, FaultError, Play, allowed, equal, first_difference
from parcade.env.check_values import Fault, words_of
from parcade.env.make import make
from parcade.env.preprocessing import PreprocessedEnv
from parcade.env.slot import leaves
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, ParcadeError
from parcade.game.titles import title_names

SLOW_RESET_S = 1.0
_OTHER_SEEDS = 3  # played beside the first until one differs: two dungeons may look alike from where they begin
QUICK_STEPS = 30
QUICK_S = 0.1  # of play before a training; what is found is played once more
_NOT_EXACT = "A worker that dies could not be brought back exactly, and the same seed would not give the same numbers."


@dataclass(frozen=True, slots=True)
class Findings:
    """What a check found: faults, and notes on what is no fault but good to know."""

    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def check_env(
    env: gym.Env[Any, Any] | Callable[[], Any] | EnvSpec | str, *, steps: int = 200, seeds: Sequence[int] = (1,)
) -> list[str]:
    """Return what is wrong, one sentence each with what to do; an empty list means that a pool can run the env.

    ``env``: a factory (best: all can be checked), a spec, a title's name, a Gymnasium id, or an env, which is not
    closed. Plays a few episodes of at most ``steps`` steps with random actions; of a spec slot i plays ``seeds[i]``.
    """
    return [fault.text for fault in examine(env, steps=steps, seeds=seeds).faults]


def examine(
    env: gym.Env[Any, Any] | Callable[[], Any] | EnvSpec | str,
    *,
    steps: int = 200,
    seeds: Sequence[int] = (1,),
    tell: Callable[[str], None] = lambda place: None,
) -> Findings:
    """Return all that ``check_env`` finds; ``tell`` hears where it is, such as "step 3 in slot 1"."""
    found = Findings()
    try:
        maker, is_ours = _maker(env, found.faults)
        numbered = isinstance(env, EnvSpec | str) and len(seeds) > 1
        for slot, seed in enumerate(seeds if isinstance(env, EnvSpec | str) else seeds[:1]):
            if slot == 0 or not found.faults:
                _Check(found, steps, seed, slot if numbered else None, tell).run(partial(maker, slot), is_ours)
    except FaultError as error:
        found.faults.append(error.fault)
    return found


def quick_faults(env: gym.Env[Any, Any], slot: int, tell: Callable[[str], None] = lambda place: None) -> list[Fault]:
    """Return what a moment of random play finds, for a look before a training; the env is left in any episode.

    It takes two or three resets and at most ``QUICK_S`` of steps, twice. An env whose resets are slow is not played
    again. ``tell`` hears before each reset and step what comes.
    """
    try:
        user_env = env.env if isinstance(env, PreprocessedEnv) else env  # preprocessing would only hide what is wrong
        checked = CheckedEnv(user_env, slot, tell)
        faults = _space_faults(user_env)
        actions = _actions(user_env.action_space, QUICK_STEPS)
        checked.check_forms()
        checked.until_s = time.monotonic() + QUICK_S
        first = checked.play(1, actions)
        faults += first.faults
        if not faults and first.reset_s < QUICK_S:
            faults += _repeat_faults(checked, first, actions[: len(first.trace) - 1], 1)
        return faults
    except FaultError as error:
        return [error.fault]


def _maker(env: Any, faults: list[Fault]) -> tuple[Callable[[int], Any], bool]:
    """Return how to make the env of a slot, and whether what it makes is ours to close."""
    if isinstance(env, gym.Env):
        return (lambda slot: env), False
    if isinstance(env, str):
        env = EnvSpec(game=env) if env in title_names() else EnvSpec(env_id=env)
    if isinstance(env, EnvSpec):
        spec = env
        return (lambda slot: make(spec.with_(slot=slot))), True
    if not callable(env):
        raise FaultError(f"Wanted an env, a factory, a spec or a name, got {type(env).__name__}.")
    factory = _travelled(env, faults)
    return (lambda slot: factory()), True


def _travelled(factory: Callable[[], Any], faults: list[Fault]) -> Callable[[], Any]:
    """Return the factory as a worker gets it."""
    import cloudpickle

    try:
        data = cloudpickle.dumps(factory)
    except Exception as error:
        text = (
            f"The factory cannot be pickled ({error}). Workers need that: make files, sockets, locks and emulators "
            "inside the factory, not outside it."
        )
        faults.append(Fault(text))
        return factory
    return lambda: cloudpickle.loads(data)()


def _make(maker: Callable[[], Any]) -> gym.Env[Any, Any]:
    try:
        env = maker()
    except ParcadeError as error:
        raise FaultError(f"{error}.") from None
    except Exception as error:
        raise FaultError(
            f"The env cannot be made: {words_of(error)}. Call the factory by itself to see where."
        ) from None
    if not isinstance(env, gym.Env):
        raise FaultError(f"The factory returned {type(env).__name__}. Return a gymnasium.Env.")
    return env


class _Check:
    """The whole check of one slot's env."""

    def __init__(self, found: Findings, steps: int, seed: int, slot: int | None, tell: Callable[[str], None]) -> None:
        self._found, self._steps, self._seed, self._slot, self._tell = found, steps, seed, slot, tell

    def run(self, maker: Callable[[], Any], is_ours: bool) -> None:
        """Play the env a few times, then another one of the same maker."""
        self._tell("its constructor")
        env = _make(maker)
        try:
            first, actions = self._check(env)
        finally:
            if is_ours:
                env.close()
        if is_ours and not self._found.faults:
            self._check_second_env(_make(maker), first, actions)

    def _check(self, env: gym.Env[Any, Any]) -> tuple[Play, list[Any]]:
        faults, checked = self._found.faults, CheckedEnv(env, self._slot, self._tell)
        faults += _space_faults(env)
        actions = _actions(env.action_space, self._steps)
        checked.check_forms()
        inside: list[Fault] = []
        if isinstance(env, PreprocessedEnv):  # preprocessing hides what is wrong with the env inside
            inner = CheckedEnv(env.env, self._slot, self._tell)
            inside = inner.play(self._seed, _actions(env.env.action_space, self._steps)).faults
        first = checked.play(self._seed, actions)
        faults += inside or first.faults
        if faults:
            return first, actions
        if first.reset_s > SLOW_RESET_S:
            text = (
                f"reset took {first.reset_s:.1f} s. Every episode waits for it: load files once in the constructor, "
                "or start from a saved state."
            )
            faults.append(Fault(text))
        faults += _repeat_faults(checked, first, actions, self._seed)
        if not faults and all(self._is_same(first, checked.play(seed, actions)) for seed in self._other_seeds()):
            text = (
                f"{1 + _OTHER_SEEDS} seeds gave the same {len(actions)} steps for the same actions. If all seeds do, "
                "an evaluation on unseen seeds plays the same game."
            )
            self._found.notes.append(text)
        return first, actions

    def _other_seeds(self) -> range:
        return range(self._seed + 1, self._seed + 1 + _OTHER_SEEDS)

    @staticmethod
    def _is_same(one: Play, other: Play) -> bool:
        return first_difference(one.trace, other.trace) is None

    def _check_second_env(self, other: gym.Env[Any, Any], first: Play, actions: list[Any]) -> None:
        try:
            again = CheckedEnv(other, self._slot, self._tell).play(self._seed, actions)
        finally:
            other.close()
        step = first_difference(first.trace, again.trace)
        if step is not None:
            text = (
                f"Two envs of one factory gave different episodes for the same seed and actions, from step {step} on. "
                "What an episode is must depend on its seed alone, not on the env's number or the time it was made. "
            )
            self._found.faults.append(Fault(text + _NOT_EXACT))


def _space_faults(env: gym.Env[Any, Any]) -> list[Fault]:
    for name in ("observation_space", "action_space"):
        space = getattr(env, name, None)
        if not isinstance(space, spaces.Space):
            raise FaultError(f"The env has no {name}. Set self.{name} in the constructor.")
        try:
            leaves(space)
        except EnvError as error:
            raise FaultError(f"The {name} cannot be used: {error}.") from None
    space = env.action_space
    if isinstance(space, spaces.Box) and not np.isfinite([space.low, space.high]).all():
        text = "The action space has no bounds. Give the Box finite low and high, or a policy cannot scale to it."
        return [Fault(text)]
    return []


def _actions(space: spaces.Space[Any], steps: int) -> list[Any]:
    own = copy.deepcopy(space)  # the env may draw from its own
    own.seed(0)
    return [own.sample() for _ in range(steps)]


def _repeat_faults(checked: CheckedEnv, first: Play, actions: list[Any], seed: int) -> list[Fault]:
    """A pool brings a dead worker back by playing its episodes again: the same seed and actions, the same episode."""
    trace, checked.until_s = first.trace, float("inf")
    if not equal(checked.reset(seed), trace[0].observation):
        text = (
            f"reset(seed={seed}) gave two different observations. Take all randomness from self.np_random, after "
            f"super().reset(seed=seed). {_NOT_EXACT}"
        )
        return [Fault(text)]
    if trace[-1].is_last:  # the reset after the end has to open a playable episode
        action = allowed(checked.env.action_space, actions[0], trace[0].observation)
        _, _, terminated, truncated = checked.step(1, action)
        if len(trace) > 2 and (terminated or truncated):
            text = "The first step after an ended episode ends again. Clear all state of the episode in reset."
            return [Fault(text, True)]
    checked.play(seed + 1, actions)
    step = first_difference(trace, checked.play(seed, actions).trace)
    if step is None:
        return []
    text = (
        f"The same seed and actions gave another episode, from step {step} on, after other episodes were played. "
        f"{_NOT_EXACT} Clear all state in reset and use self.np_random only: no global randomness, no clock."
    )
    return [Fault(text)]

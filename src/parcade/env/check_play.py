"""An episode played step by step, with a look at every answer of the env."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from parcade.env.check_values import Fault, is_truth, kind_of, observation_faults, result_faults, words_of

MASK = "action_mask"  # a leaf of this name forbids actions where it is 0


class FaultError(Exception):
    """The env cannot be checked any further; found, told and never raised to the user."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.fault = Fault(text, True)


class Answer(NamedTuple):
    """What a step (or a reset) returned."""

    observation: Any
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False

    @property
    def is_last(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated


Trace = list[Answer]  # of one episode, the first from reset


class Play(NamedTuple):
    """One episode, what is wrong with it, and how long its reset took."""

    trace: Trace
    faults: list[Fault]
    reset_s: float


class CheckedEnv:
    """Plays one env and judges its answers.

    Messages name ``slot``, ``tell`` hears how far it is, and ``until_s`` is the time to stop.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        slot: int | None = None,
        tell: Callable[[str], None] = lambda place: None,
        until_s: float = float("inf"),
    ) -> None:
        self.env, self._slot, self._tell, self.until_s = env, slot, tell, until_s

    def _place(self, step: int) -> str:
        """Return where in the episode something happens; step 0 is reset."""
        place = f"step {step}" if step else "reset"
        return place if self._slot is None else f"{place} in slot {self._slot}"

    def check_forms(self) -> None:
        """See that the env inside all wrappers answers as Gymnasium wants: wrappers only fail on what does not."""
        plain = self.env.unwrapped
        if plain is not self.env:
            inner = CheckedEnv(plain, self._slot, self._tell)
            observation = inner.reset(1)
            inner.step(1, allowed(plain.action_space, plain.action_space.sample(), observation))

    def play(self, seed: int, actions: Sequence[Any]) -> Play:
        """Play one episode and judge everything it returns; the first fault ends it: each is told once."""
        started = time.monotonic()
        trace: Trace = [Answer(self.reset(seed))]
        reset_s = time.monotonic() - started
        faults = observation_faults(self.env.observation_space, trace[0].observation, self._place(0))
        for step, action in enumerate(actions, 1):
            if faults or trace[-1].is_last or time.monotonic() > self.until_s:
                break
            action = allowed(self.env.action_space, action, trace[-1].observation)
            observation, reward, terminated, truncated = self.step(step, action)
            faults += observation_faults(self.env.observation_space, observation, self._place(step))
            faults += result_faults(reward, terminated, truncated, self._place(step))
            trace.append(Answer(_copied(observation), _number(reward), *map(_truth, (terminated, truncated))))
        return Play(trace, faults, reset_s)

    def reset(self, seed: int) -> Any:
        """Reset and return the first observation."""
        where = "" if self._slot is None else f" in slot {self._slot}"
        self._tell(self._place(0))
        try:
            answer: Any = self.env.reset(seed=seed)
        except TypeError as error:
            raise FaultError(
                f"reset failed{where}: {error}. Define it as reset(self, *, seed=None, options=None)."
            ) from None
        except Exception as error:
            raise FaultError(
                f"reset raised {words_of(error)}{where}. A pool would restart its worker and truncate the episode."
            ) from None
        if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], Mapping)):
            raise FaultError(f"reset returned {kind_of(answer)}{where}. Return (observation, info), info a dict.")
        return _copied(answer[0])

    def step(self, number: int, action: Any) -> tuple[Any, Any, Any, Any]:
        """Take a step and return what it answered, but for its info."""
        self._tell(self._place(number))
        try:
            answer: Any = self.env.step(action)
        except Exception as error:
            tried = np.asarray(action).tolist()
            raise FaultError(
                f"{self._place(number)} raised {words_of(error)} for the action {tried!r}. A pool would restart its "
                "worker and truncate the episode. Every action of the action space must be allowed until the episode "
                "ends."
            ) from None
        if not (isinstance(answer, tuple) and len(answer) == 5):
            raise FaultError(
                f"{self._place(number)} returned {kind_of(answer)}. Return (observation, reward, terminated, "
                "truncated, info)."
            )
        return answer[:4]


def allowed(space: spaces.Space[Any], action: Any, observation: Any) -> Any:
    """Return the action, or one in its place that the observation's action mask does not forbid."""
    mask = observation.get(MASK) if isinstance(observation, Mapping) else None
    if mask is None or not isinstance(space, spaces.Discrete) or mask[action - space.start]:
        return action
    free = np.flatnonzero(mask)
    return action if not len(free) else int(space.start + free[action % len(free)])


def first_difference(left: Trace, right: Trace) -> int | None:
    """Return the first step in which two episodes differ."""
    for step, (a, b) in enumerate(zip(left, right, strict=False)):
        if a[1:] != b[1:] or not equal(a.observation, b.observation):
            return step
    return None if len(left) == len(right) else min(len(left), len(right))


def equal(a: Any, b: Any) -> bool:
    """Whether two observations are the same."""
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(equal, a, b))
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


def _copied(value: Any) -> Any:
    """Return an observation the env cannot change any more."""
    if isinstance(value, Mapping):
        return {key: _copied(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_copied, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def _truth(value: Any) -> bool:
    return is_truth(value) and bool(value)


def _number(reward: Any) -> float:
    try:
        return float(reward)
    except (TypeError, ValueError):
        return 0.0

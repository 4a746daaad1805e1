"""Tiny envs for `bench learn`.

`RecallEnv` is solved by memory only. `LocksEnv` forbids nearly every action. `TableEnv` shows states that are only
names: no policy can interpolate between them.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from parcade.errors import EnvError

RECALL, LOCKS, TABLE = "ParcadeBench/Recall-v0", "ParcadeBench/Locks-v0", "ParcadeBench/Table-v0"
MASK = "action_mask"
Step = tuple[Any, float, bool, bool, dict[str, Any]]


class RecallEnv(gym.Env[npt.NDArray[np.float32], Any]):
    """One of four signs is shown at the first step only; ``delay`` steps later it must be named for 1 point.

    The observations between do not depend on the sign nor on the actions, so without memory the mean is 1/4.
    """

    metadata: dict[str, Any] = {"render_modes": []}
    n_signs = 4

    def __init__(self, delay: int = 10) -> None:
        self.delay = delay
        self.observation_space = spaces.Box(0, 1, (self.n_signs + 1,), np.float32)  # the sign, and "name it now"
        self.action_space = spaces.Discrete(self.n_signs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Draw a sign and show it."""
        super().reset(seed=seed)
        self._sign, self._steps = int(self.np_random.integers(self.n_signs)), 0
        shown = np.zeros(self.n_signs + 1, np.float32)
        shown[self._sign] = 1
        return shown, {}

    def step(self, action: Any) -> Step:
        """Show nothing; the answer to the step that asks ends the episode."""
        asked = self._steps == self.delay
        reward = float(asked and int(action) == self._sign)
        self._steps += 1
        shown = np.zeros(self.n_signs + 1, np.float32)
        shown[-1] = self._steps == self.delay
        return shown, reward, asked, False, {}


class LocksEnv(gym.Env[Any, Any]):
    """A hundred doors, four of them open; the one shown is right and gives 1 point, eight times an episode.

    With ``masked`` the observation has a leaf that tells which doors are open, and a locked one must never be tried:
    it raises. Without, the observation has no such leaf, and a locked door gives nothing.
    """

    metadata: dict[str, Any] = {"render_modes": []}
    n_doors, n_open, length = 100, 4, 8

    def __init__(self, masked: bool = True) -> None:
        self.masked = masked
        wish = spaces.Box(0, 1, (self.n_doors,), np.float32)
        mask = {MASK: spaces.Box(0, 1, (self.n_doors,), np.int8)} if masked else {}
        self.observation_space = spaces.Dict({"wish": wish, **mask})
        self.action_space = spaces.Discrete(self.n_doors)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Show the first doors."""
        super().reset(seed=seed)
        self._steps = 0
        return self._show(), {}

    def step(self, action: Any) -> Step:
        """Try a door and show the next ones."""
        door = int(action)
        if self.masked and door not in self._open:
            raise EnvError(f"door {door} is locked, open are {self._open}; the action mask was not obeyed")
        reward = float(door == self._open[0])
        self._steps += 1
        return self._show(), reward, self._steps >= self.length, False, {}

    def _show(self) -> dict[str, Any]:
        self._open = [int(door) for door in self.np_random.choice(self.n_doors, self.n_open, replace=False)]
        wish = np.zeros(self.n_doors, np.float32)
        wish[self._open[0]] = 1
        if not self.masked:
            return {"wish": wish}
        mask = np.zeros(self.n_doors, np.int8)
        mask[self._open] = 1
        return {"wish": wish, MASK: mask}


class TableEnv(gym.Env[Any, Any]):
    """Shows one of 64 states; each has one right action of four, which gives 1 point. An episode has 20 steps.

    ``table_seed`` draws the right actions, whatever the seed of the episode is. The next state is uniformly random, so
    chance gives 5 of 20, and a policy must learn all 64 states by heart for 20.
    """

    metadata: dict[str, Any] = {"render_modes": []}
    n_states, n_actions, length = 64, 4, 20

    def __init__(self, table_seed: int = 0) -> None:
        self.right = np.random.default_rng([table_seed]).integers(self.n_actions, size=self.n_states)
        self.observation_space = spaces.Discrete(self.n_states)
        self.action_space = spaces.Discrete(self.n_actions)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Show the first state."""
        super().reset(seed=seed)
        self._steps = 0
        return self._show(), {}

    def step(self, action: Any) -> Step:
        """Judge the action and show another state; the end is a cut, for no state tells how many steps are left."""
        reward = float(int(action) == self.right[self._state])
        self._steps += 1
        return self._show(), reward, False, self._steps >= self.length, {}

    def _show(self) -> int:
        self._state = int(self.np_random.integers(self.n_states))
        return self._state


def register_learn_envs() -> None:
    """Make all of them known to Gymnasium."""
    for env_id, name in ((RECALL, "RecallEnv"), (LOCKS, "LocksEnv"), (TABLE, "TableEnv")):
        if env_id not in gym.registry:
            gym.register(env_id, f"parcade.bench.learn_envs:{name}", disable_env_checker=True, order_enforce=False)


register_learn_envs()  # the one import with an effect: `imports=` names this module to register the ids

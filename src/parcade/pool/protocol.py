"""What a pool is, whichever way its envs are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy.typing as npt
from gymnasium import spaces

Array = npt.NDArray[Any]
Choose = Callable[[int, Mapping[str, Array]], Any]  # step of the stretch, observation rows -> an action for each row


class StepRows(NamedTuple):
    """What one group's slots wrote, in slot order; views that hold until the group's next ``send``.

    ``final`` rows, ``episode_return``, ``episode_length`` and ``metrics`` mean something only where
    ``terminated | truncated``; there ``obs`` is already the next episode's first observation.
    """

    obs: Mapping[str, Array]
    reward: Array
    terminated: Array
    truncated: Array
    final: Mapping[str, Array]
    episode_return: Array
    episode_length: Array
    metrics: Array


class StretchRows(NamedTuple):
    """What all slots did in T steps of their own, as arrays (T, N, ...); views that hold until the next ``play``.

    ``obs`` is (T + 1, N, ...): before each step, and after the last. What is said of ended episodes means something
    only where ``terminated | truncated``.
    """

    obs: Mapping[str, Array]
    actions: Mapping[str, Array]
    reward: Array
    terminated: Array
    truncated: Array
    final: Mapping[str, Array]
    episode_return: Array
    episode_length: Array
    metrics: Array


class Player(Protocol):
    """Chooses actions where the envs are. Picklable, and made of nothing that a worker does not have (no torch).

    A row's action must depend on the weights, the seed, the slot, the step and the row alone: the numbers are then the
    same for any number of workers, and after a worker's death.
    """

    @property
    def n_weights(self) -> int:
        """How many numbers ``prepare`` wants."""
        ...

    def prepare(self, weights: Array, seed: int, slots: range, n_steps: int) -> Choose:
        """Return what chooses the actions of these slots over a stretch of ``n_steps``."""
        ...


class Pool(Protocol):
    """N envs stepped together; slot i belongs to group i % n_groups."""

    n_envs: int
    n_groups: int
    n_workers: int
    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    metric_names: tuple[str, ...]

    def reset(self, seed: int | None = None, *, onward: bool = False) -> None:
        """Begin episode 0 in every slot (``onward``: the episode after the present one); ``seed`` is a new run seed."""
        ...

    def observations(self, group: int = 0) -> Mapping[str, Array]:
        """Return the present observation rows of a group, by leaf name."""
        ...

    def send(self, actions: Any, group: int = 0) -> None:
        """Hand over one action per slot of the group and return at once."""
        ...

    def recv(self, group: int = 0) -> StepRows:
        """Wait until every slot of the group has taken its step."""
        ...

    def make_room(self, player: Player, n_steps: int) -> None:
        """Make the block that stretches of this length need, so that one too large is found before the first."""
        ...

    def play(self, player: Player, weights: Array, seed: int, n_steps: int) -> StretchRows:
        """Let every slot take ``n_steps`` steps with the player's actions, without a word in between."""
        ...

    def dump(self) -> dict[str, Array]:
        """Return what is needed to bring every slot back; no step may be under way."""
        ...

    def load(self, arrays: dict[str, Array]) -> None:
        """Bring every slot to where ``dump`` found it."""
        ...

    def call(self, slot: int, what: str, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of one slot's env (what="call"), get or set an attribute, or ask for a wrapper ("wrapped")."""
        ...

    def close(self) -> None:
        """End all workers and remove the slab; twice is fine."""
        ...

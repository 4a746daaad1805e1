"""The block: time-indexed arrays that all slots write in place. It is the rollout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from parcade.env.slot import leaves
from parcade.pool.actor import Actor, ActorRows, ActorShape, Array
from parcade.pool.mapped import Field, MappedArrays

MILESTONE_TRACKERS = ("milestones", "guide")  # who counts milestones in an episode: the title, and its guide
NEW = "new:"  # stands before a tracker's name where a step's new milestones are told


@dataclass(frozen=True, slots=True)
class EnvShape:
    """What the envs of a pool have in common."""

    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    metric_names: tuple[str, ...]
    has_cells: bool = False


class Episode(NamedTuple):
    """One episode that ended in a block."""

    slot: int
    step: int  # the row it ended in
    number: int  # which of the slot's episodes it was
    total_reward: float
    length: int
    terminated: bool
    metrics: Mapping[str, float]


def block_fields(env: EnvShape, n_envs: int, n_steps: int, actor: ActorShape) -> list[Field]:
    """Return the arrays for ``n_steps`` steps of all slots and for what the actor leaves behind."""
    steps = (n_steps, n_envs)
    fields = []
    for leaf, (shape, dtype) in leaves(env.observation_space).items():
        fields.append(Field(f"obs:{leaf}", (n_steps + 1, n_envs, *shape), dtype.str))
        # Row k of a slot is the last observation of the k-th episode that ended there: as many rows as are needed.
        fields.append(Field(f"final:{leaf}", (n_steps, n_envs, *shape), dtype.str, sparse=n_steps > 1))
    for leaf, (shape, dtype) in leaves(env.action_space).items():
        fields.append(Field(f"action:{leaf}", (*steps, *shape), dtype.str))
    fields += [
        Field("reward", steps, "<f8"),
        Field("terminated", steps, "|u1", fill=0),
        Field("truncated", steps, "|u1", fill=0),
        Field("episode", steps, "<i8"),  # the episode each slot is in after the step
        Field("ended_episode", steps, "<i8"),  # number, return and length of the episode that ended with the step
        Field("episode_return", steps, "<f8"),
        Field("episode_length", steps, "<i8"),
        Field("metrics", (*steps, len(env.metric_names)), "<f4"),
        *(_explored_fields(steps) if env.has_cells else []),
        Field("weights", (actor.n_weights,), "<f4"),
        Field("seed", (1,), "<i8"),
        Field("memory", (n_steps + 1, n_envs, actor.state_size), "<f4", fill=0),
        Field("params", (*steps, actor.n_params), "<f4"),
        Field("value", (n_steps if actor.has_values else 0, n_envs), "<f4"),
        Field("drawn", (*steps, *(actor.drawn_shape if actor.drawn_shape is not None else (0,))), actor.drawn_dtype),
    ]
    return fields


def _explored_fields(steps: tuple[int, int]) -> list[Field]:
    """Return where each step led, 0 for nowhere, and the milestones it reached: bit i for the i-th of each tracker."""
    reached = [Field(f"{NEW}{name}", steps, "<u8", fill=0) for name in MILESTONE_TRACKERS]
    return [Field("cell", steps, "<u8"), *reached]


def known_metrics(names: tuple[str, ...], values: Array) -> dict[str, float]:
    """Return an episode's metrics by name, without those the env did not tell (NaN)."""
    return {name: value for name, value in zip(names, values.tolist(), strict=True) if value == value}


def status_fields(n_envs: int, n_workers: int) -> list[Field]:
    """Return the arrays that say how far everybody is."""
    return [
        Field("episode", (n_envs,), "<i8", fill=0),
        Field("episode_seed", (n_envs,), "<i8", fill=0),
        Field("running_return", (n_envs,), "<f8", fill=0),  # of the episode under way
        Field("running_length", (n_envs,), "<i8", fill=0),  # its finished steps, IN_RESET or BEING_MADE
        # bit i: the episode under way has reached the i-th milestone of the title, or of its guide
        *(Field(name, (n_envs,), "<u8", fill=0) for name in MILESTONE_TRACKERS),
        Field("beats", (n_workers,), "<u8", fill=0),
        Field("current_slot", (n_workers,), "<i4", fill=-1),
        Field(
            "taken", (n_envs,), "<i8", fill=0
        ),  # the row a tile of slots has finished, at its first slot, written last
    ]


class Block:
    """The arrays of one block by name; ``obs`` is (T + 1, N, ...), all others (T, N, ...)."""

    def __init__(self, mapped: MappedArrays, metric_names: tuple[str, ...]) -> None:
        arrays = mapped.arrays
        self.mapped, self.metric_names = mapped, metric_names
        self.obs, self.final, self.action = (mapped.leaves(name) for name in ("obs", "final", "action"))
        self.reward = arrays["reward"]
        self.terminated, self.truncated = (arrays[name].view(np.bool_) for name in ("terminated", "truncated"))
        self.episode, self.ended_episode, self.metrics = (
            arrays[name] for name in ("episode", "ended_episode", "metrics")
        )
        self.episode_return, self.episode_length = arrays["episode_return"], arrays["episode_length"]
        self.weights, self.seed = arrays["weights"], arrays["seed"]
        self.memory, self.params = arrays["memory"], arrays["params"]
        self.value, self.drawn = arrays["value"], arrays["drawn"]
        self.cell: Array | None = arrays.get("cell")
        self.new_milestones = mapped.leaves(NEW.removesuffix(":")) if self.cell is not None else {}  # by tracker
        self.n_steps, self.n_envs = self.reward.shape
        self._reserved = 0 if self.n_steps > 1 else 1  # rows of the sparse arrays that have memory

    @property
    def env_steps(self) -> int:
        """Steps the block holds, summed over slots."""
        return int(self.n_steps * self.n_envs)

    @property
    def ended(self) -> Array:
        """(T, N): where an episode ended with the step, either way."""
        return self.terminated | self.truncated

    def has_room_for(self, n_steps: int, actor: Actor | None) -> bool:
        """Whether a fragment of this length with this actor fits."""
        shape = actor.shape if actor is not None else ActorShape()
        drawn = self.drawn.shape[2:], self.drawn.dtype.str
        wanted = shape.drawn_shape if shape.drawn_shape is not None else (0,), shape.drawn_dtype
        sizes = len(self.weights), self.memory.shape[2], self.params.shape[2], len(self.value) > 0
        if self.n_steps != n_steps:
            return False
        wanted_sizes = shape.n_weights, shape.state_size, shape.n_params, shape.has_values
        return actor is None or (drawn, sizes) == (wanted, wanted_sizes)

    def final_place(self, t: int, slot: int) -> int:
        """Return the row of ``final`` that holds the last observation of the episode ending at ``t``."""
        return int(np.count_nonzero(self.terminated[:t, slot] | self.truncated[:t, slot]))

    def keep_final(self, t: int, slot: int) -> None:
        """Keep what stands in row ``t`` + 1 as the last observation of an episode."""
        row = self.final_place(t, slot)
        if row >= self._reserved:
            for leaf in self.final:
                self.mapped.reserve(f"final:{leaf}", row)
            self._reserved = row + 1
        for leaf, final in self.final.items():
            final[row, slot] = self.obs[leaf][t + 1, slot]

    def final_of(self, t: int, slot: int) -> dict[str, Any]:
        """Return the last observation of the episode that ended at ``t``, by leaf name (no copies)."""
        row = self.final_place(t, slot)
        return {leaf: final[row, slot] for leaf, final in self.final.items()}

    def episodes(self, first: int = 0) -> list[Episode]:
        """Return the episodes that ended from row ``first`` on, in the order of time and slot."""
        found = []
        for t, slot in np.argwhere(self.ended[first:]):
            t = int(t) + first
            found.append(
                Episode(
                    int(slot),
                    t,
                    int(self.ended_episode[t, slot]),
                    float(self.episode_return[t, slot]),
                    int(self.episode_length[t, slot]),
                    bool(self.terminated[t, slot]),
                    known_metrics(self.metric_names, self.metrics[t, slot]),
                )
            )
        return found

    def actor_rows(self, t: int, part: slice, status: Mapping[str, Array]) -> ActorRows:
        """Return one step of some slots as an actor sees it."""
        return ActorRows(
            t,
            {leaf: rows[t, part] for leaf, rows in self.obs.items()},
            status["episode_seed"][part],
            status["running_length"][part],
            self.memory[t, part],
            self.memory[t + 1, part],
            self.params[t, part],
            self.value[t, part] if len(self.value) else self.value[:, 0],
            self.drawn[t, part],
        )

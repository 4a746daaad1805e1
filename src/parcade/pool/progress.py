"""How far the slots of a pool are: rows of the block by group, fragments under way, and the way back for each slot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from parcade.errors import PoolError, SettingsError
from parcade.pool.actions import ActionWriter
from parcade.pool.actor import Array
from parcade.pool.block import Block
from parcade.pool.fragment import Fragment
from parcade.pool.journal import Journal, Slots
from parcade.pool.mapped import MappedArrays
from parcade.pool.sharing import TILE, tile_leaders
from parcade.pool.stepping import Actions

MOST_GROUPS = 0xFFFE  # a fragment names its group in two bytes


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


class SlotPlace(NamedTuple):
    """Where a slot stands: in an episode, after these actions, with this return so far.

    ``was_seen``: somebody has looked at it there.
    """

    episode: int
    actions: Actions
    was_seen: bool
    total_reward: float


class Progress:
    """Slot i belongs to group i % n_groups, whoever runs it.

    Groups follow slots, not workers, so that a policy sees the same batches for any number of workers.
    """

    def __init__(
        self, status: MappedArrays, shares: Sequence[range], n_groups: int, action_space: spaces.Space[Any]
    ) -> None:
        n_envs = shares[-1].stop
        self.status = status.arrays
        self.parts = [slice(group, n_envs, n_groups) for group in range(n_groups)]
        self.slots: list[Slots] = [np.arange(n_envs)[part] for part in self.parts]
        self.under_way: list[Fragment | None] = [None] * n_groups
        self.now = [0] * n_groups  # the row of each group's present observations
        self.blocks: list[Block] = []
        self.block = 0  # the one in use
        self.begun = False  # whether present observations were handed out
        self._writer = ActionWriter(action_space)
        self._shares = shares
        self.play_together(TILE)
        self._returns = np.zeros(n_envs)  # of each slot's episode when its last fragment was over
        self._counted = np.zeros(n_envs, np.int64)  # steps of each tile that ``newly_taken`` has counted
        self._finished = np.zeros(n_envs, np.int64)  # steps of fragments that are over

    def play_together(self, n_slots: int) -> None:
        """Expect so many slots of a worker to take their steps together; no step is under way."""
        self._leaders = tile_leaders(self._shares, len(self.parts), n_slots)

    def use(self, blocks: list[Block]) -> None:
        """Go over to other blocks; present observations and memories move along."""
        before, self.blocks = self.blocks, blocks
        if not before:
            self.journal = Journal(blocks[0].action, self.slots)
        for group, part in enumerate(self.parts):
            if before:
                _carry(before[self.block], self.now[group], blocks[0], part, self.status)
            self.now[group] = 0
        self.block = 0

    @property
    def present(self) -> Block:
        """The block in use."""
        return self.blocks[self.block]

    def observations(self, group: int) -> dict[str, Array]:
        """Return the present observation rows of a group."""
        return {leaf: rows[self.now[group], self.parts[group]] for leaf, rows in self.present.obs.items()}

    def memory(self) -> Array:
        """Return a copy of every slot's memory before its next step; zeros at the start of an episode."""
        found: Array = np.zeros_like(self.present.memory[0])
        for now, part, fragment in zip(self.now, self.parts, self.under_way, strict=True):
            if fragment is None:
                found[part] = self.present.memory[now, part] * (self.status["running_length"][part] > 0)[:, None]
            else:  # of a fragment that is given up: before its first step
                found[part] = self.blocks[fragment.block].memory[fragment.first, part]
        return found

    def load_memory(self, memory: Array) -> None:
        """Go back to what ``memory`` returned."""
        for now, part in zip(self.now, self.parts, strict=True):
            self.present.memory[now, part] = memory[part]

    def begin(self, group: int, n_steps: int, *, has_actor: bool, block: int | None = None) -> Fragment:
        """Note that a group's next steps are under way; a full block, or another one, is begun at its first row."""
        if self.under_way[group] is not None:
            raise PoolError(f"steps of group {group} are under way; recv them before the next ones are sent")
        if not self.begun:
            raise PoolError("the pool has not begun; call reset before the first step")
        block = self.block if block is None else block
        first = self.now[group]
        if block != self.block or first + n_steps > self.blocks[block].n_steps:
            _carry(self.present, first, self.blocks[block], self.parts[group], self.status)
            first = 0
        fragment = Fragment(block, group, first, first + n_steps, has_actor)
        self.status["taken"][self.parts[group]] = first
        self.under_way[group], self.now[group] = fragment, first
        return fragment

    def write_actions(self, fragment: Fragment, actions: Any) -> None:
        """Write the actions of a fragment of one step."""
        part = self.parts[fragment.group]
        rows = {leaf: rows[fragment.first, part] for leaf, rows in self.blocks[fragment.block].action.items()}
        try:
            self._writer.write_given(actions, rows, f"the actions of group {fragment.group}")
        except SettingsError:
            self.under_way[fragment.group] = None
            raise

    def fragment(self, group: int) -> Fragment:
        """Return the fragment under way; refuse to wait for a step nobody asked for."""
        fragment = self.under_way[group]
        if fragment is None:
            raise PoolError(f"no step of group {group} is under way; send actions before recv")
        return fragment

    def finish(self, group: int) -> Block:
        """Note in the journal what a finished fragment did."""
        fragment = self.fragment(group)
        block, part = self.blocks[fragment.block], self.parts[group]
        rows = slice(fragment.first, fragment.stop)
        actions = {leaf: array[rows, part] for leaf, array in block.action.items()}
        ended = block.terminated[rows, part] | block.truncated[rows, part]
        self.journal.append(group, actions, ended, block.episode[rows, part])
        self.under_way[group], self.now[group], self.block = None, fragment.stop, fragment.block
        self._finished[part] += fragment.stop - fragment.first
        self._returns[part] = self.status["running_return"][part]
        return block

    def step_rows(self, group: int) -> StepRows:
        """Return what the step that was finished last wrote."""
        block, part, t = self.present, self.parts[group], self.now[group] - 1
        return StepRows(
            {leaf: rows[t + 1, part] for leaf, rows in block.obs.items()},
            block.reward[t, part],
            block.terminated[t, part],
            block.truncated[t, part],
            self._finals(block, t, group),
            block.episode_return[t, part],
            block.episode_length[t, part],
            block.metrics[t, part],
        )

    def _finals(self, block: Block, t: int, group: int) -> Mapping[str, Array]:
        part, slots = self.parts[group], self.slots[group]
        if block.n_steps == 1 or not (block.terminated[t, part] | block.truncated[t, part]).any():
            return {leaf: rows[0, part] for leaf, rows in block.final.items()}
        places = [block.final_place(t, int(slot)) for slot in slots]
        return {leaf: rows[places, slots] for leaf, rows in block.final.items()}

    def newly_taken(self, slots: range) -> int:
        """Return how many steps of these slots were finished since this was last asked."""
        done = self._finished.copy()
        for group, fragment in enumerate(self.under_way):
            if fragment is not None:
                part = self.parts[group]
                done[part] += self.status["taken"][self._leaders[part]] - fragment.first
        new = (done - self._counted)[slots.start : slots.stop]
        self._counted[slots.start : slots.stop] += new
        return int(new.max(initial=0))

    def taken(self) -> int:
        """Return how many steps of fragments under way are finished, summed over slots."""
        found = 0
        for group, fragment in enumerate(self.under_way):
            if fragment is not None:
                found += int((self.status["taken"][self._leaders[self.parts[group]]] - fragment.first).sum())
        return found

    def row(self, slot: int) -> tuple[int, int]:
        """Return the row up to which a slot's steps are complete, and which block it is in."""
        group = slot % len(self.parts)
        fragment = self.under_way[group]
        if fragment is None:
            return self.now[group], self.block
        return int(self.status["taken"][self._leaders[slot]]), fragment.block

    def place(self, slot: int) -> SlotPlace:
        """Return where a slot stands after the last step its worker has finished."""
        episode, actions, group = int(self.journal.episode[slot]), self.journal.actions(slot), slot % len(self.parts)
        total, fragment = float(self._returns[slot]), self.under_way[group]
        if fragment is None:
            return SlotPlace(episode, actions, self.begun, total)
        block, (taken, _) = self.blocks[fragment.block], self.row(slot)
        rows = slice(fragment.first, taken)
        ends = np.flatnonzero(block.terminated[rows, slot] | block.truncated[rows, slot])
        if not len(ends):
            joined = {
                leaf: np.concatenate([before, block.action[leaf][rows, slot]]) for leaf, before in actions.items()
            }
            return SlotPlace(episode, joined, self.begun, _added(total, block.reward[rows, slot]))
        start = fragment.first + int(ends[-1]) + 1
        newer = {leaf: array[start:taken, slot].copy() for leaf, array in block.action.items()}
        total = _added(0.0, block.reward[start:taken, slot])
        return SlotPlace(int(block.episode[start - 1, slot]), newer, start < taken, total)

    def has_actor(self, groups: Collection[int]) -> bool:
        """Whether an actor chooses the actions of any of these groups now."""
        fragments = [self.under_way[group] for group in groups]
        return any(fragment is not None and fragment.has_actor for fragment in fragments)

    def forget(self) -> None:
        """Forget fragments under way, and where the slots were; no worker is at work."""
        self.under_way = [None] * len(self.parts)
        self.now = [0] * len(self.parts)
        self.status["taken"][...] = self._counted[...] = self._finished[...] = 0
        self.begun = False

    def note_starts(self) -> None:
        """After all slots began: take over which episode each is in; a poisoned one was skipped."""
        self.journal.skip_to(self.status["episode"])
        self._returns[:] = self.status["running_return"]
        self.begun = True


def _added(total: float, rewards: Array) -> float:
    """Return a return after more rewards, added one by one as the worker adds them: the last bits depend on it."""
    for reward in rewards.tolist():
        total += reward
    return total


def _carry(source: Block, row: int, target: Block, part: slice, status: Mapping[str, Array]) -> None:
    """Copy present observations and memories into the first row of a block."""
    for leaf, rows in target.obs.items():
        rows[0, part] = source.obs[leaf][row, part]
    if source.memory.shape[2:] == target.memory.shape[2:]:
        target.memory[0, part] = source.memory[row, part]
        target.memory[0, part][status["running_length"][part] == 0] = 0


def check_counts(n_envs: int, n_groups: int) -> None:
    """Refuse counts that make no pool."""
    if n_envs < 1:
        raise SettingsError(f"n_envs is {n_envs}, wanted 1 or more")
    if not 1 <= n_groups <= min(n_envs, MOST_GROUPS):
        raise SettingsError(f"n_groups is {n_groups}, wanted 1 to n_envs ({n_envs})")

"""Groups of slots, and the rows of a slab seen by group; shared by both pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from parcade.env.slot import write_leaves
from parcade.errors import PoolError, SettingsError
from parcade.pool.journal import Journal, Slots
from parcade.pool.protocol import Array, StepRows
from parcade.pool.slab import Slab

MOST_GROUPS = 0xFFFE  # the bell names a group in two bytes, two values are taken


class GroupedRows:
    """Views of the slab for each group: slot i belongs to group i % n_groups, whoever runs it.

    Groups follow slots, not workers, so that a policy sees the same batches for any number of workers.
    """

    def __init__(self, slab: Slab, n_envs: int, n_groups: int, action_space: spaces.Space[Any]) -> None:
        self.slab = slab
        self.slices = [slice(g, n_envs, n_groups) for g in range(n_groups)]
        self.slots: list[Slots] = [np.arange(n_envs)[part] for part in self.slices]
        self.journal = Journal(slab.leaves("action"), self.slots)
        self.steps_sent = [0] * n_groups
        self.under_way = [False] * n_groups  # sent, and not yet handed out by recv
        self._actions = [{leaf: rows[part] for leaf, rows in slab.leaves("action").items()} for part in self.slices]
        self._rows = [self._group_rows(part) for part in self.slices]
        self._action_space = action_space
        # Looked at in every step: memoryviews cost a fifth of two array operations.
        flags = (slab.arrays["terminated"].data, slab.arrays["truncated"].data)
        self._flags = [tuple(flag[part] for flag in flags) for part in self.slices]

    def _group_rows(self, part: slice | Slots) -> StepRows:
        arrays = self.slab.arrays
        return StepRows(
            {leaf: rows[part] for leaf, rows in self.slab.leaves("obs").items()},
            arrays["reward"][part],
            arrays["terminated"].view(np.bool_)[part],
            arrays["truncated"].view(np.bool_)[part],
            {leaf: rows[part] for leaf, rows in self.slab.leaves("final").items()},
            arrays["episode_return"][part],
            arrays["episode_length"][part],
            arrays["metrics"][part],
        )

    def rows(self, group: int) -> StepRows:
        """Return the group's rows as they are now."""
        return self._rows[group]

    def note_actions(self, actions: Any, group: int) -> None:
        """Write the actions into the group's rows and into the journal."""
        if self.under_way[group]:
            raise PoolError(f"group {group} was sent actions already; recv its step before the next send")
        rows = self._actions[group]
        write_leaves(self._action_space, actions, rows)
        self.journal.append(group, rows)
        self.steps_sent[group] += 1
        self.under_way[group] = True

    def note_actions_of(self, slots: Slots, actions: Any) -> None:
        """The same for single slots, where every slot is a group."""
        busy = [int(slot) for slot in slots if self.under_way[slot]]
        if busy:
            raise PoolError(f"slots {busy} were sent actions already; recv_first hands out those that are ready")
        leaves = self.slab.leaves("action")
        rows = {leaf: array[slots] for leaf, array in leaves.items()}
        write_leaves(self._action_space, actions, rows)
        for leaf, array in leaves.items():
            array[slots] = rows[leaf]
        for at, slot in enumerate(slots):
            self.journal.append(slot, {leaf: array[at : at + 1] for leaf, array in rows.items()})
            self.steps_sent[slot] += 1
            self.under_way[slot] = True

    def expect(self, group: int) -> None:
        """Refuse to wait for a step nobody asked for."""
        if not self.under_way[group]:
            raise PoolError(f"no step of group {group} is under way; send actions before recv")

    def finish(self, group: int) -> StepRows:
        """After a step: note in the journal which episodes ended, and return the group's rows."""
        rows = self._rows[group]
        terminated, truncated = self._flags[group]
        if 1 in terminated.tobytes() or 1 in truncated.tobytes():
            over = self.slots[group][rows.terminated | rows.truncated]
            self.journal.finish(group, over, self.slab.arrays["episode"][over])
        self.under_way[group] = False
        return rows

    def finish_slots(self, slots: Slots) -> StepRows:
        """The same for single slots; the rows are copies in the order of ``slots``."""
        rows = self._group_rows(slots)
        for slot in slots[rows.terminated | rows.truncated]:
            self.journal.finish(slot, slot, self.slab.arrays["episode"][slot])
        for slot in slots:
            self.under_way[slot] = False
        return rows

    def begin_stretch(self) -> None:
        """All groups are under way for a while; what they do is noted at the end."""
        if any(self.under_way):
            raise PoolError("steps are under way; recv them before the slots play by themselves")
        self.under_way = [True] * len(self.slices)

    def finish_stretch(self, actions: Mapping[str, Array], ended: Array, episodes: Array) -> None:
        """Note steps (T, N, ...) that the slots took by themselves, as if each had been sent and received."""
        for group, part in enumerate(self.slices):
            of_group = {leaf: rows[:, part] for leaf, rows in actions.items()}
            ends = ended[:, part]
            for step in range(len(ends)):
                self.journal.append(group, {leaf: rows[step] for leaf, rows in of_group.items()})
                if ends[step].any():
                    over = self.slots[group][ends[step]]
                    self.journal.finish(group, over, episodes[step, over])
            self.steps_sent[group] += len(ended)
            self.slab.arrays["steps_done"][part] = self.steps_sent[group]  # a step taken again was counted twice
            self.under_way[group] = False

    def forget_steps(self) -> None:
        """Count from zero again; no worker is at work."""
        self.under_way = [False] * len(self.slices)
        self.steps_sent = [0] * len(self.slices)
        self.slab.arrays["steps_done"][:] = 0

    def note_starts(self) -> None:
        """After all slots began: take over which episode each is in; a poisoned one was skipped."""
        self.journal.skip_to(self.slab.arrays["episode"])


def check_counts(n_envs: int, n_groups: int) -> None:
    """Refuse counts that make no pool."""
    if n_envs < 1:
        raise SettingsError(f"n_envs is {n_envs}, wanted 1 or more")
    if not 1 <= n_groups <= min(n_envs, MOST_GROUPS):
        raise SettingsError(f"n_groups is {n_groups}, wanted 1 to n_envs ({n_envs})")

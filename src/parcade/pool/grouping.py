"""Groups of slots, and the rows of a slab seen by group; shared by both pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from parcade.env.slot import WHOLE
from parcade.errors import SettingsError
from parcade.pool.journal import Journal
from parcade.pool.protocol import Array, StepRows
from parcade.pool.slab import Slab


class GroupedRows:
    """Views of the slab for each group: slot i belongs to group i % n_groups, whoever runs it.

    Groups follow slots, not workers, so that a policy sees the same batches for any number of workers.
    """

    def __init__(self, slab: Slab, n_envs: int, n_groups: int, action_space: spaces.Space[Any]) -> None:
        self.slab = slab
        self.journal = Journal(slab.leaves("action"), n_envs)
        self.slices = [slice(g, n_envs, n_groups) for g in range(n_groups)]
        self.slots = [np.arange(n_envs)[part] for part in self.slices]
        self._actions = [{leaf: rows[part] for leaf, rows in slab.leaves("action").items()} for part in self.slices]
        self._rows = [self._group_rows(part) for part in self.slices]
        self._action_space = action_space

    def _group_rows(self, part: slice) -> StepRows:
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
        rows = self._actions[group]
        if WHOLE in rows:
            rows[WHOLE][...] = actions
        else:
            _write_tree(rows, actions)
        self.journal.append(self.slices[group], rows)

    def note_ends(self, group: int) -> None:
        """After a step: note in the journal which episodes ended."""
        rows = self._rows[group]
        ended = rows.terminated | rows.truncated
        if ended.any():
            slots = self.slots[group][ended]
            self.journal.finish(slots, self.slab.arrays["episode"][slots])

    def note_starts(self) -> None:
        """After all slots began: take over which episode each is in."""
        self.journal.episode[:] = self.slab.arrays["episode"]


def _write_tree(rows: Mapping[str, Array], actions: Any, path: str = "") -> None:
    parts = actions.items() if isinstance(actions, Mapping) else enumerate(actions)
    for key, part in parts:
        name = f"{path}/{key}" if path else str(key)
        if name in rows:
            rows[name][...] = part
        else:
            _write_tree(rows, part, name)


def check_counts(n_envs: int, n_groups: int) -> None:
    """Refuse counts that make no pool."""
    if n_envs < 1:
        raise SettingsError(f"n_envs is {n_envs}, wanted 1 or more")
    if not 1 <= n_groups <= n_envs:
        raise SettingsError(f"n_groups is {n_groups}, wanted 1 to n_envs ({n_envs})")

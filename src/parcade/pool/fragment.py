"""A fragment: n steps of a worker's slots of one group, with actions from outside or with an actor beside the envs."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from parcade.pool.actions import ActionWriter
from parcade.pool.actor import Actor, Array, Choose
from parcade.pool.block import Block
from parcade.pool.sharing import tiles
from parcade.pool.stepping import SlotRunner

PACKED = struct.Struct("<BHII?")  # a fragment on its way through a step channel


class Fragment(NamedTuple):
    """Rows ``first`` to ``stop`` of one block, for the slots of one group."""

    block: int
    group: int
    first: int
    stop: int
    has_actor: bool

    def pack(self) -> bytes:
        """Return what goes through the step channel."""
        return PACKED.pack(*self)

    @classmethod
    def unpack(cls, packed: bytes) -> Fragment:
        """Return what ``pack`` packed."""
        return cls(*PACKED.unpack(packed))


class FragmentRunner:
    """Takes the fragments of one worker's slots."""

    def __init__(self, runners: Sequence[SlotRunner], n_groups: int, status: Mapping[str, Array], worker: int) -> None:
        self._status, self.worker = status, worker
        self._current, self._taken = status["current_slot"].data, status["taken"].data
        self.runners = {runner.slot: runner for runner in runners}
        slots = range(runners[0].slot, runners[-1].slot + 1)
        self._tiles = [tiles(slots, group, n_groups) for group in range(n_groups)]
        self._writer = ActionWriter(runners[0].env.action_space)
        self.blocks: list[Block] = []
        self._actor: Actor | None = None

    def attach(self, blocks: Sequence[Block], actor: Actor | None) -> None:
        """Write into these blocks from now on, with this actor where a fragment wants one."""
        self.blocks, self._actor = list(blocks), actor
        for runner in self.runners.values():
            runner.attach(self.blocks[0])

    def run(self, fragment: Fragment, after_step: Callable[[], None] | None = None) -> None:
        """Take the steps, tile by tile; how far each came stands in ``taken`` at any time."""
        for slots in self._tiles[fragment.group]:
            self._run_tile(fragment, slots, after_step)

    def _run_tile(self, fragment: Fragment, slots: range, after_step: Callable[[], None] | None) -> None:
        block, current, worker = self.blocks[fragment.block], self._current, self.worker
        runners = [self.runners[slot] for slot in slots]
        if len(self.blocks) > 1:
            for runner in runners:
                runner.attach(block)
        part = slice(slots.start, slots.stop, slots.step)
        emulates = [runner.emulate for runner in runners if runner.has_halves]
        observes = [runner.observe for runner in runners]
        current[worker] = -1
        choose = self._choose(block, slots) if fragment.has_actor else None
        for t in range(self._taken[slots.start], fragment.stop):
            if choose is not None:
                actions = choose(block.actor_rows(t, part, self._status))
                self._writer.write(actions, {leaf: rows[t, part] for leaf, rows in block.action.items()})
            for emulate in emulates:
                emulate(t)
            for observe in observes:
                observe(t)
            self._taken[slots.start] = t + 1
            current[worker] = -1  # what goes wrong until the next step is the actor's fault
            if after_step is not None:
                after_step()

    def _choose(self, block: Block, slots: range) -> Choose:
        assert self._actor is not None
        return self._actor.prepare(block.weights, int(block.seed[0]), slots)

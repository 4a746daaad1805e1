"""A fragment: n steps of a worker's slots of one group, with actions from outside or with an actor beside the envs."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from parcade.pool.actions import ActionWriter
from parcade.pool.actor import Actor, Array, Choose
from parcade.pool.block import Block
from parcade.pool.sharing import TILE, tiles
from parcade.pool.showcase import Showcase
from parcade.pool.showing import PLACE_EVERY, Showing
from parcade.pool.stepping import SlotRunner

TURN = 16  # steps of a tile before the next one's turn, where tiles take turns
_OVER = object()
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

    def __init__(
        self,
        runners: Sequence[SlotRunner],
        n_groups: int,
        status: Mapping[str, Array],
        worker: int,
        showcase: Showcase,
    ) -> None:
        self._status, self.worker = status, worker
        self._current, self._taken = status["current_slot"].data, status["taken"].data
        self.runners = {runner.slot: runner for runner in runners}
        self._slots, self._n_groups = range(runners[0].slot, runners[-1].slot + 1), n_groups
        self._showing = Showing(showcase, worker, self._slots)
        self._showing.adopt(runners)
        self._writer = ActionWriter(runners[0].env.action_space)
        self.blocks: list[Block] = []
        self._actor: Actor | None = None

    def attach(self, blocks: Sequence[Block], actor: Actor | None) -> None:
        """Write into these blocks from now on, with this actor where a fragment wants one."""
        self.blocks, self._actor = list(blocks), actor
        size = TILE if actor is None else actor.shape.n_together
        groups = range(self._n_groups)
        self._tiles = [tiles(self._slots, group, self._n_groups, size) for group in groups]
        for runner in self.runners.values():
            runner.attach(self.blocks[0])

    def run(self, fragment: Fragment, after_step: Callable[[], None] | None = None) -> None:
        """Take the steps, tile by tile; how far each came stands in ``taken`` at any time.

        While somebody looks the tiles take turns, so that all games move; the order changes no number.
        """
        runs = [self._steps(fragment, slots, after_step) for slots in self._tiles[fragment.group]]
        if self._showing.is_watched():
            while runs:
                runs = [run for run in runs if next(run, _OVER) is not _OVER]
        for run in runs:
            for _ in run:
                pass

    def _steps(self, fragment: Fragment, slots: range, after_step: Callable[[], None] | None) -> Iterator[None]:
        """Take one tile's steps; pause now and then."""
        block, current, worker = self.blocks[fragment.block], self._current, self.worker
        runners = [self.runners[slot] for slot in slots]
        if len(self.blocks) > 1:
            for runner in runners:
                runner.attach(block)
        part = slice(slots.start, slots.stop, slots.step)
        emulates = [runner.emulate for runner in runners if runner.has_halves]
        observes = [runner.observe for runner in runners]
        current[worker] = -1
        shown, n_requests, n_seen = self._showing.tile(runners), self._showing.n_requests, -1
        choose = self._choose(block, slots) if fragment.has_actor else None
        for t in range(self._taken[slots.start], fragment.stop):
            if choose is not None:
                actions = choose(block.actor_rows(t, part, self._status))
                self._writer.write(actions, {leaf: rows[t, part] for leaf, rows in block.action.items()})
            is_looked_at = n_requests[0] != n_seen  # since the tile's last step somebody has asked for something
            if is_looked_at:
                n_seen = n_requests[0]
                shown.before()
            for emulate in emulates:
                emulate(t)
            for observe in observes:
                observe(t)
            self._taken[slots.start] = t + 1
            if is_looked_at and shown.after(fragment.block, t, block.reward):
                n_seen = -1
            if not t % PLACE_EVERY and shown.placed:
                shown.note_places()
            current[worker] = -1  # what goes wrong until the next step is the actor's fault
            if after_step is not None:
                after_step()
            if not (t + 1) % TURN:
                yield

    def _choose(self, block: Block, slots: range) -> Choose:
        assert self._actor is not None
        return self._actor.prepare(block.weights, int(block.seed[0]), slots)

"""N envs stepped together, whichever way they are run: what both kinds of pool have in common."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from gymnasium import spaces

from parcade.env.spec import EnvSpec
from parcade.env.title_guard import TitleGuard
from parcade.errors import PoolError, SettingsError
from parcade.pool.actor import Actor, ActorShape, Array, Choose
from parcade.pool.block import Block, EnvShape, block_fields, status_fields
from parcade.pool.calling import check_call, result
from parcade.pool.fragment import Fragment
from parcade.pool.mapped import MappedArrays, plan_layout
from parcade.pool.progress import Progress, StepRows, check_counts
from parcade.pool.seeding import (
    Episodes,
    EpisodesFromStarts,
    GuideVersion,
    Start,
    TrainingEpisodes,
    episodes_of,
    with_options,
)
from parcade.pool.sharing import TILE
from parcade.pool.showcase import Showcase

PoolT = TypeVar("PoolT", bound="Pool")


class Pool(abc.ABC):
    """Slot i belongs to group i % n_groups. All slots write into one block, in place.

    ``send`` and ``recv`` take one step with actions from outside; ``play`` takes many with an actor beside the envs.
    Both are fragments: the same orders, the same wait, the same recovery.
    """

    n_workers: int
    shares: list[range]  # the slots of each worker; without workers, of this process
    cpus: list[int | None]  # the processor of each worker, None for any
    keeps_observations = True  # in the blocks

    def __init__(self, spec: EnvSpec, n_envs: int, n_groups: int, seed: int, episodes: Episodes | None) -> None:
        check_counts(n_envs, n_groups)
        self.spec, self.n_envs, self.n_groups = spec, n_envs, n_groups
        self.episodes: Episodes = episodes or TrainingEpisodes(seed, spec.slot or 0)
        self.played = self.episodes  # those of the last rollout: the next one's may begin elsewhere
        self.restarts: list[str] = []  # every death of a worker, in words
        self._mapped: list[MappedArrays] = []  # the status first, then the blocks
        self._showcase: Showcase | None = None
        self._actor: Actor | None = None
        self._closed = False
        self._faults_told: dict[int, int] = {}  # worker -> functions of its title that were named
        self.while_waiting: Callable[[], None] = lambda: None  # called now and then; what it raises ends the wait

    def _share(self, shape: EnvShape, shares: list[range]) -> None:
        """Make what all processes share, with a block of one step."""
        self.observation_space, self.action_space = shape.observation_space, shape.action_space
        self.metric_names = shape.metric_names
        self._shape = shape if self.keeps_observations else replace(shape, observation_space=spaces.Dict({}))
        self._mapped = [MappedArrays.create(plan_layout(status_fields(self.n_envs, len(shares))))]
        self._showcase = Showcase.create(self.n_envs, len(shares), self.spec.game is not None)
        self.progress = Progress(self._mapped[0], shares, self.n_groups, self.action_space)
        self.progress.use(self._make_blocks(1, 1, ActorShape()))

    def _make_blocks(self, count: int, n_steps: int, actor: ActorShape) -> list[Block]:
        layout = plan_layout(block_fields(self._shape, self.n_envs, n_steps, actor))
        made = [MappedArrays.create(layout) for _ in range(count)]
        self._mapped += made
        return [Block(arrays, self.metric_names) for arrays in made]

    @property
    def status(self) -> Mapping[str, Array]:
        """How far every slot and worker is; see ``status_fields``."""
        return self.progress.status

    @property
    def shared_files(self) -> list[MappedArrays]:
        """What all processes share: the status first, then the blocks."""
        return self._mapped

    @property
    def showcase(self) -> Showcase:
        """Where viewers ask for pictures."""
        assert self._showcase is not None
        return self._showcase

    @property
    def parts(self) -> list[slice]:
        """The slots of each group."""
        return self.progress.parts

    @property
    def block(self) -> Block:
        """The block in use."""
        return self.progress.present

    def reset(
        self,
        seed: int | Sequence[int] | None = None,
        *,
        onward: bool = False,
        options: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> Mapping[str, Array]:
        """Begin episode 0 in every slot (``onward``: the episode after the present one).

        ``seed`` is a new run seed, or the seed of each slot's first episode; ``options`` are each slot's reset options
        for the episode that begins now. Return the first observations of group 0, by leaf name.
        """
        if options is not None and self.spec.game is not None:
            raise SettingsError(f"reset options {options!r} are given, but the game {self.spec.game} takes none")
        episodes = episodes_of(seed, self.episodes, self.n_envs)
        self._flush()
        journal = self.progress.journal
        journal.begin_anew(journal.episode + 1 if onward else 0)
        self.episodes = with_options(episodes, journal.episode.tolist(), options)
        self._bring_back()
        return self.observations()

    def observations(self, group: int = 0) -> Mapping[str, Array]:
        """Return the present observation rows of a group, by leaf name."""
        return self.progress.observations(group)

    def send(self, actions: Any, group: int = 0) -> None:
        """Hand over one action per slot of the group and return at once."""
        self._check_open()
        fragment = self.progress.begin(group, 1, has_actor=False)
        self.progress.write_actions(fragment, actions)
        self._start(fragment)

    def recv(self, group: int = 0) -> StepRows:
        """Wait until every slot of the group has taken its step."""
        self._check_open()
        self.progress.fragment(group)
        self._wait(group)
        self._tell_faults()
        self.progress.finish(group)
        return self.progress.step_rows(group)

    def make_room(self, n_steps: int, actor: Actor | None = None, n_blocks: int = 1) -> None:
        """Make the blocks that fragments of this length and this actor need, unless they are there already."""
        if not isinstance(n_steps, int | np.integer) or n_steps < 1:
            raise SettingsError(f"n_steps is {n_steps!r}, wanted a whole number from 1 on")
        self._check_open()
        if any(self.progress.under_way):
            raise PoolError("steps are under way; recv them before the slots play by themselves")
        blocks = self.progress.blocks
        fits = len(blocks) == n_blocks and all(block.has_room_for(int(n_steps), actor) for block in blocks)
        if fits and actor == self._actor:
            return
        self._actor = actor
        self.progress.play_together(TILE if actor is None else actor.shape.n_together)
        if not fits:
            old = self._mapped[1:]
            self.progress.use(self._make_blocks(n_blocks, int(n_steps), actor.shape if actor else ActorShape()))
            self._mapped = [self._mapped[0], *self._mapped[1 + len(old) :]]
            for mapped in old:
                mapped.close()
        self._attach()

    def start_play(self, actor: Actor, weights: Array, seed: int, n_steps: int, block: int = 0) -> None:
        """Let every slot take ``n_steps`` steps with the actor's choices, and return at once."""
        self.make_room(n_steps, actor, max(len(self.progress.blocks), block + 1))
        target = self.progress.blocks[block]
        _check_actor_input(target, weights, seed)
        target.weights[:], target.seed[0] = weights, seed
        for group in range(self.n_groups):
            self._start(self.progress.begin(group, n_steps, has_actor=True, block=block))

    def finish_play(self) -> Block:
        """Wait until every slot has taken its steps; return the block, which holds until the next ``start_play``."""
        for group in range(self.n_groups):
            self.progress.fragment(group)
            self._wait(group)
        self._tell_faults()
        fragment = self.progress.fragment(0)
        self._mark(fragment.stop - fragment.first)
        for group in range(self.n_groups):
            block = self.progress.finish(group)
        return block

    def _tell_faults(self) -> None:
        """Say which functions of the title have raised since the last look; they are left out."""
        for worker, count in enumerate(self.showcase.arrays["n_faults"].tolist()):
            told = self._faults_told.get(worker, 0)
            if count > told:
                self._faults_told[worker] = count
                for function, why in self.showcase.faults(worker, told):
                    TitleGuard(self.spec.label).warn(function, why)

    def _mark(self, n_steps: int) -> None:
        """Note which episodes a rollout is of, and where it begins, for those who ask about its ended episodes."""
        self.played = self.episodes
        self.progress.journal.mark(n_steps)

    def play_here(self, chooses: Sequence[Choose], n_steps: int) -> Block:
        """Take ``n_steps`` steps with actions chosen in this process, for a policy on another device.

        ``chooses`` holds what chooses for each group. While one group's actions are computed the others' envs run.
        """
        self._mark(n_steps)
        for group, choose in enumerate(chooses):
            self._send_chosen(choose, group)
        for step in range(n_steps):
            for group, choose in enumerate(chooses):
                self.recv(group)
                if step + 1 < n_steps:
                    self._send_chosen(choose, group)
        return self.block

    def _send_chosen(self, choose: Choose, group: int) -> None:
        fragment = self.progress.begin(group, 1, has_actor=False)
        rows = self.block.actor_rows(fragment.first, self.progress.parts[group], self.status)
        self.progress.write_actions(fragment, choose(rows))
        self._start(fragment)

    def play(self, actor: Actor, weights: Array, seed: int, n_steps: int) -> Block:
        """Let every slot take ``n_steps`` steps with the actor's choices, without a word in between."""
        self.start_play(actor, weights, seed, n_steps)
        return self.finish_play()

    def dump(self, *, gives_up: bool = False) -> dict[str, Array]:
        """Return what is needed to bring every slot back; of steps under way nothing is kept, if they are given up."""
        if any(self.progress.under_way) and not gives_up:
            raise PoolError("a pool can be dumped only between recv and send")
        base = self.episodes.episodes if isinstance(self.episodes, EpisodesFromStarts) else self.episodes
        if not isinstance(base, TrainingEpisodes):
            raise PoolError("only a pool with a run seed can be dumped, not one with listed seeds or reset options")
        return {"run_seed": np.array([base.run_seed], np.int64), **self.progress.journal.dump()}

    def load(
        self,
        arrays: dict[str, Array],
        starts: Mapping[tuple[int, int], Start] | None = None,
        guides: Sequence[GuideVersion] = (),
    ) -> None:
        """Bring every slot to where ``dump`` found it, with the starts and the guides that its episodes had."""
        self._flush()
        self.progress.journal.load(arrays)
        if "run_seed" in arrays:
            base = TrainingEpisodes(int(arrays["run_seed"][0]), self.spec.slot or 0)
            self.episodes = _dealt(base, starts or {}, guides)
        self._bring_back()

    def begin_from(self, starts: Mapping[tuple[int, int], Start]) -> None:
        """Have episodes, by slot and number, begin at these starts from now on; no step may be under way."""
        present = self.episodes
        self._deal(starts, present.guides if isinstance(present, EpisodesFromStarts) else ())

    def follow(self, guides: Sequence[GuideVersion]) -> None:
        """Have episodes follow these versions of the guide; no step may be under way."""
        present = self.episodes
        self._deal(present.starts if isinstance(present, EpisodesFromStarts) else {}, guides)

    def _deal(self, starts: Mapping[tuple[int, int], Start], guides: Sequence[GuideVersion]) -> None:
        if any(self.progress.under_way):
            raise PoolError("steps are under way; recv them before the next episodes begin in another way")
        base = self.episodes.episodes if isinstance(self.episodes, EpisodesFromStarts) else self.episodes
        if not isinstance(base, TrainingEpisodes):
            raise PoolError("only the episodes of a pool with a run seed can begin in another way")
        self.episodes = _dealt(base, starts, guides)
        self._announce()

    def close(self, *, at_once: bool = False) -> None:
        """End all envs and remove what was shared; twice is fine. ``at_once``: without waiting for what they do."""
        if not self._closed:
            self._closed = True
            self._end(at_once)
            for mapped in self._mapped:
                mapped.close()
            if self._showcase is not None:
                self._showcase.close()

    @property
    def alive(self) -> bool:
        """Whether the pool is open and can play."""
        return not self._closed

    def _check_open(self) -> None:
        if self._closed:
            raise PoolError("the pool is closed")

    def __enter__(self: PoolT) -> PoolT:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(at_once=kind is not None and issubclass(kind, KeyboardInterrupt))

    @property
    @abc.abstractmethod
    def cut(self) -> Set[tuple[int, int]]:
        """Slot and number of every episode that was truncated or skipped because it killed its worker every time."""

    @property
    def cut_episodes(self) -> int:
        """How many episodes were cut."""
        return len(self.cut)

    def call(self, slot: int, what: str, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of one slot's env (what="call"); "get", "set" or find ("has") an attribute; find a wrapper.

        What was set is set again in a worker that had to be restarted; what a method changed is not.
        """
        return self.call_all([slot], what, name, *args, **kwargs)[0]

    def call_all(self, slots: Iterable[int], what: str, name: str, *args: Any, **kwargs: Any) -> list[Any]:
        """Do the same as ``call`` in the envs of several slots, with one message to each worker."""
        self._check_open()
        asked = list(slots)
        for slot in asked:
            check_call(what, slot, self.n_envs)
        answers = self.ask(asked, what, name, args, kwargs)
        return [result(slot, what, name, answers[slot]) for slot in asked]

    def infos(self) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """Return for each slot the ``info`` its env told last, and the last one of the episode that ended last.

        They travel pickled: one message to each worker and back. Nobody who does not ask pays for them.
        """
        return self.call_all(range(self.n_envs), "info", "infos")

    @abc.abstractmethod
    def ask(
        self, slots: Sequence[int], what: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Mapping[int, tuple[str, Any]]:
        """Return the answer of each slot's env as it came: what ``call`` returns is made of it."""

    @abc.abstractmethod
    def _attach(self) -> None:
        """Have the envs write into the present blocks, with the present actor."""

    @abc.abstractmethod
    def _announce(self) -> None:
        """Tell whoever begins episodes of a change in ``episodes``."""

    @abc.abstractmethod
    def _start(self, fragment: Fragment) -> None:
        """Let a fragment begin."""

    @abc.abstractmethod
    def _wait(self, group: int) -> None:
        """Wait until a group's fragment is finished."""

    @abc.abstractmethod
    def _flush(self) -> None:
        """Wait for what is under way and forget it; holds also after a Ctrl-C in the middle of anything."""

    @abc.abstractmethod
    def _bring_back(self) -> None:
        """Bring every slot to where the journal says."""

    @abc.abstractmethod
    def _end(self, at_once: bool) -> None:
        """Close all envs."""


def _dealt(base: TrainingEpisodes, starts: Mapping[tuple[int, int], Start], guides: Sequence[GuideVersion]) -> Episodes:
    return EpisodesFromStarts(base, dict(starts), tuple(guides)) if starts or guides else base


def _check_actor_input(block: Block, weights: Array, seed: int) -> None:
    weights = np.asarray(weights)
    if weights.shape != block.weights.shape or weights.dtype.kind not in "fiu":
        found = f"{weights.dtype} of shape {weights.shape}"
        raise SettingsError(f"the actor wants {len(block.weights)} numbers as weights, got {found}")
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 63:
        raise SettingsError(f"the actor's seed is {seed!r}, wanted a whole number from 0 to 2**63 - 1")

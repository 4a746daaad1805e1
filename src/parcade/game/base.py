"""What a title is: a memory's meaning, rewards and endings, as data and pure functions."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from parcade.console.base import Console, Memory
from parcade.game.boot import idle
from parcade.game.fields import FieldMeaning
from parcade.game.milestone import Milestone

State = TypeVar("State")
Progress = TypeVar("Progress")
Features = npt.NDArray[np.float32]
Place = tuple[str, int, int]  # a map, and column and row on it
Picture = npt.NDArray[np.uint8]  # (height, width, 3)
CELL_PIXELS = 16  # of a column and a row of a place, in all pictures of maps
FIRST_HELD_OUT_SEED = 1 << 31  # env seeds from here on are kept for evaluation and never trained on


@dataclass(frozen=True, slots=True)
class Action:
    """A named button mask: the buttons held for the whole step, by name.

    With ``tap`` they are let go for the step's last frame, so that the same action again is a new press: texts and
    menus wait for one.
    """

    name: str
    buttons: tuple[str, ...] = ()
    tap: bool = False


class ScreenPlace(NamedTuple):
    """Which part of a map the screen shows."""

    map: str
    left: int  # the screen's corner on the map, in pixels; a cell has 16
    top: int
    height: int  # lines of the picture that show the map; a line of text may stand below


class Game(ABC, Generic[State, Progress]):
    """The meaning of one title; holds no console and no episode.

    A title fills the class attributes and the abstract methods. ``State`` is a small frozen record read from
    memory after each step, ``Progress`` a plain serialisable record of the episode (a dict of ints, floats,
    lists and strings), changed only by ``reward``.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    system: ClassVar[str]  # "gb", "gba", or a console that only stable-retro plays
    builtin_rom: ClassVar[str | None] = None  # file name in parcade.roms
    retro_rom: ClassVar[str | None] = None  # name of a free ROM, with a start state, that stable-retro carries
    known_sha1: ClassVar[Mapping[str, str]] = {}  # SHA-1 -> revision, for the user's own ROM
    actions: ClassVar[tuple[Action, ...]]
    feature_names: ClassVar[tuple[str, ...]]
    metric_names: ClassVar[tuple[str, ...]]
    reward_weights: ClassVar[Mapping[str, float]]  # the named parts and their default weights
    frame_skip: ClassVar[int] = 6
    max_steps: ClassVar[int] = 10_000
    training: ClassVar[Mapping[str, Any]] = {}  # settings that suit this title, below the user's own
    restarts_itself: ClassVar[bool] = False  # ``start`` begins a new game from wherever the console stands
    fields: Mapping[str, FieldMeaning] = {}  # optional: what conditions and guides can name
    milestones: tuple[Milestone, ...] = ()  # optional: in the order in which a player meets them
    success_milestone: str | None = None  # the one that the metric ``success`` tells

    @property
    def milestone_metrics(self) -> dict[str, str]:
        """The metric that tells each milestone: one of its own name, ``success``, or ``milestone_<name>``.

        The game has those of ``metric_names`` itself, the env counts the others.
        """
        own = {name: name for name in self.metric_names}
        if self.success_milestone is not None and "success" in own:
            own.setdefault(self.success_milestone, "success")
        return {milestone.name: own.get(milestone.name, f"milestone_{milestone.name}") for milestone in self.milestones}

    def start(self, console: Console, seed: int) -> None:
        """Bring a console to the first moment of control of the episode ``seed``.

        The env has loaded a save state, or the console as it was at power-on (unless ``restarts_itself``). What
        follows may depend on ``seed`` only, never on what the console did before. The default presses nothing.
        """

    def start_from_state(self, console: Console, seed: int) -> None:
        """Begin the episode ``seed`` on a save state that the user gave and the env has loaded.

        The default is ``start``; where that begins a new game, wait a moment told by ``seed``, so that the state counts
        and episodes differ.
        """
        if self.restarts_itself:
            idle(console, seed)
        else:
            self.start(console, seed)

    def can_start_from(self, state: State) -> bool:
        """Whether ``start_from_state`` can begin an episode on a save state that reads as ``state``.

        False before the game begins, on a title screen: the env refuses such a save state. The default is True.
        """
        return True

    @abstractmethod
    def read(self, memory: Memory) -> State:
        """Return what memory means now."""

    @abstractmethod
    def begin(self, state: State) -> Progress:
        """Return the record of an episode that starts in ``state``."""

    @abstractmethod
    def reward(self, progress: Progress, before: State, after: State) -> dict[str, float]:
        """Return the named parts that happened (unweighted, absent = 0), and note them in ``progress``."""

    @abstractmethod
    def over(self, state: State, progress: Progress) -> bool:
        """Whether the episode has ended by the game's own rules."""

    @abstractmethod
    def features(self, state: State, progress: Progress, out: Features) -> None:
        """Write the feature vector into ``out``, about -1 to 1 each."""

    @abstractmethod
    def metrics(self, progress: Progress, state: State) -> dict[str, float]:
        """Return what curves are drawn of, keyed by ``metric_names``; ``success`` is 0 or 1."""

    def place(self, state: State) -> Place | None:
        """Return where the player stands, for maps of where everybody is; None where a title or a moment has no map."""
        return None

    def screen_place(self, state: State) -> ScreenPlace | None:
        """Return where the screen lies on the map, so that maps can be put together from what was seen; None in menus.

        Only titles that have no ``map_picture`` need it.
        """
        return None

    def map_picture(self, console: Console, seed: int, name: str) -> Picture | None:
        """Return the whole map ``name`` of the episode ``seed``, from what the ROM holds; None where a title cannot.

        ``start`` has begun that episode on a console that nobody else uses.
        """
        return None

    def cell(self, state: State) -> Hashable | None:
        """Return what makes this state worth keeping beside others: one archive entry per value; None keeps nothing.

        The default is the place. A title adds what opens the way further (keys, badges) and may take places coarsely.
        """
        return self.place(state)

    def describe(self, state: State) -> str | None:
        """Return the state in a line of plain words, for people and language models; None: the title has no words."""
        return None


def write_features(values: Sequence[float], out: Features) -> None:
    """Write all values into ``out``: a quarter of what ``out[:] = values`` costs for a hundred numbers."""
    if len(values) != out.size:
        raise ValueError(f"{len(values)} features were written where {out.size} have names")
    _packer(len(values)).pack_into(out, 0, *values)  # type: ignore[arg-type]  # an array is a buffer


@lru_cache(maxsize=64)
def _packer(count: int) -> struct.Struct:
    return struct.Struct(f"={count}f")

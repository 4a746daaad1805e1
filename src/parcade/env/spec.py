"""What an env is made of: plain data that travels to workers, into config files and into model files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from parcade.env.spec_fields import check_fields
from parcade.errors import SettingsError

OBSERVATIONS = ("features", "pixels", "both")
PICTURE_SIZES = ("half", "full")


@dataclass(frozen=True, slots=True)
class Watch:
    """Where an env lays what it shows, for a window to read, and how often; no number of a run depends on it."""

    folder: str
    every: int | None = None  # steps between pictures; None: as often as drawing takes no more than a tenth of the time
    label: str = "game"
    raw: bool = True  # the env's own picture as well as what the policy sees
    speed: float | None = None  # steps wait for the game's own pace times this, and for the window's pause; None: never


@dataclass(frozen=True, slots=True)
class EnvSpec:
    """One env; exactly one of ``game``, ``env_id`` and ``factory`` is given.

    ``frame_skip`` and ``max_steps`` of None take the title's own value (for a Gymnasium env: 1, and its own limit).
    """

    game: str | None = None
    env_id: str | None = None
    factory: bytes | None = None  # a cloudpickled callable that returns a gymnasium.Env
    rom: str | None = None
    state: str | None = None  # a save state, or a folder of them, dealt out to the slots in turn
    console: str = "auto"
    imports: tuple[str, ...] = ()  # modules that register Gymnasium ids
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    game_options: Mapping[str, Any] = field(default_factory=dict)
    reward_weights: Mapping[str, float] = field(default_factory=dict)
    observation: str = "features"
    frame_skip: int | None = None
    frames_stack: int = 1
    grayscale: bool | None = None  # None: grey for a game, as the env draws for a Gymnasium env
    picture_size: str | None = None  # of a game: half (None) or full
    crop: tuple[int, int, int, int] | None = None  # top, right, bottom, left
    resize: tuple[int, int] | None = None
    reward_clip: float | None = None
    max_steps: int | None = None
    action_scale: tuple[float, ...] | None = None  # the env is given each axis times its number
    missed_tile_cost: float | None = None  # of each tile our CarRacing has driven past
    patience: int | None = None  # an episode is over after this many steps in a row without a positive reward
    render: bool = False  # draw every step, so that render() shows the present
    slot: int | None = None  # the row of a pool this env is made for; None: an env of its own
    holds_all_states: bool = False  # of a folder; each episode's seed chooses one, whatever the slot
    watch: Watch | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("game", "env_id", "factory") if getattr(self, name) is not None]
        if len(given) != 1:
            raise SettingsError(f"an env needs one of game, env_id and factory, got {given or 'none'}")
        if self.observation not in OBSERVATIONS:
            raise SettingsError(f"observation is {self.observation!r}, wanted one of {', '.join(OBSERVATIONS)}")
        if self.picture_size not in (None, *PICTURE_SIZES):
            raise SettingsError(f"picture_size is {self.picture_size!r}, wanted one of {', '.join(PICTURE_SIZES)}")
        if self.picture_size is not None and self.game is None:
            raise SettingsError(f"picture_size is for games, not for {self.label}; give resize instead")
        for name in ("frame_skip", "frames_stack", "max_steps"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingsError(f"{name} is {value}, wanted 1 or more")

    @property
    def label(self) -> str:
        """A short name for messages."""
        return self.game or self.env_id or "factory"

    def with_(self, **changes: Any) -> EnvSpec:
        """Return a copy with some fields changed."""
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data; a factory cannot be written down, and who watches is no part of the env."""
        data = asdict(self)
        for name in ("factory", "watch", "slot", "holds_all_states"):
            del data[name]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EnvSpec:
        """Return the spec that ``to_dict`` wrote; unknown keys and values of another kind are refused."""
        check_fields(data)
        values = without_old_grayscale(data)
        for name in ("imports", "crop", "resize", "action_scale"):
            if values.get(name) is not None:
                values[name] = tuple(values[name])
        return cls(**values)


def without_old_grayscale(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they were meant: before ``picture_size`` a game was grey whatever ``grayscale`` said."""
    values = dict(data)
    if values.get("game") is not None and "picture_size" not in values:
        values.pop("grayscale", None)
    return values

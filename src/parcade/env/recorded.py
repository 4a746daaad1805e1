"""Recorded episodes as an env sees them: what is needed to play one again, and the env to do it in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from parcade.env.fingerprint import fingerprint
from parcade.env.foreign import ForeignSpec
from parcade.env.make import find_rom, make_game
from parcade.env.slot import SlotEnv, leaf_spaces, leaves, owned_action, read_leaves
from parcade.env.spec import EnvSpec
from parcade.errors import EpisodeFileError, SettingsError

Array = npt.NDArray[Any]


class Origin(Protocol):
    """What an episode was played in."""

    @property
    def env(self) -> Mapping[str, Any]:
        """Return the env spec as ``EnvSpec.to_dict`` gives it."""

    @property
    def parcade(self) -> str:
        """Return the version of Parcade."""

    @property
    def rom_sha1(self) -> str | None:
        """Return the SHA-1 of the ROM."""

    @property
    def state_sha1(self) -> str | None:
        """Return the SHA-1 of the save state, or of a folder of them."""

    @property
    def holds_all_states(self) -> bool:
        """Return whether an episode's seed chooses among the states of a folder, not its slot."""


class Recorded(Protocol):
    """One episode: its seed, its actions and what came of it."""

    @property
    def origin(self) -> Origin:
        """Return what it was played in."""

    @property
    def seed(self) -> int:
        """Return the env's seed."""

    @property
    def slot(self) -> int | None:
        """Return the slot of a training."""

    @property
    def actions(self) -> Mapping[str, Array]:
        """Return its actions, (length, ...) by leaf name."""

    @property
    def prefix(self) -> Mapping[str, Array]:
        """Return the actions before its first step."""

    @property
    def length(self) -> int:
        """Return how many steps it took."""

    @property
    def total_reward(self) -> float:
        """Return the sum of its rewards."""

    @property
    def terminated(self) -> bool:
        """Return whether it ended by the rules of the env."""

    @property
    def truncated(self) -> bool:
        """Return whether it was cut."""

    @property
    def metrics(self) -> Mapping[str, float]:
        """Return what its env said of it."""


def recorded_spec(episode: Recorded, where: str, named: Mapping[str, Any] | None = None) -> EnvSpec:
    """Return the env an episode of the file ``where`` was played in, if that can be made here.

    ``named`` are fields that the user named, as for ``ForeignSpec``. A ROM or a save state with another content than
    the recorded one raises EpisodeFileError.
    """
    origin = episode.origin
    try:
        foreign = ForeignSpec(EnvSpec.from_dict(origin.env), where)
    except SettingsError as error:
        raise EpisodeFileError(f"{where}: {error}") from None
    spec = foreign.accepted(named or {}, {"rom": origin.rom_sha1, "state": origin.state_sha1})
    _check_named(foreign.spec, spec, where)
    if spec.game is not None:
        rom = find_rom(spec, make_game(spec))
        if rom.sha1 != origin.rom_sha1:
            raise EpisodeFileError(
                f"{where} was played with a ROM of SHA-1 {origin.rom_sha1}, but {rom.name} has {rom.sha1}; "
                "give the one it was played with (--rom)"
            )
    if spec.state is not None and fingerprint(spec.state) != origin.state_sha1:
        raise EpisodeFileError(f"{where} was played from another save state than {spec.state}; give that one (--state)")
    return spec.with_(slot=episode.slot, holds_all_states=origin.holds_all_states)


def _check_named(theirs: EnvSpec, ours: EnvSpec, where: str) -> None:
    if theirs.label != ours.label and ours.factory is None:
        raise EpisodeFileError(f"{where} was played in {theirs.label}, not in {ours.label}")


def actions_for(env: SlotEnv, actions: Mapping[str, Array], where: str) -> Iterator[Any]:
    """Yield recorded actions as ``env`` takes them; what does not fit its action space raises EpisodeFileError."""
    wanted = leaves(env.action_space)
    found = {leaf: rows.shape[1:] for leaf, rows in actions.items()}
    if actions and found != {leaf: shape for leaf, (shape, _) in wanted.items()}:
        raise EpisodeFileError(f"{where} holds actions {found}, but the env takes {env.action_space}")
    for leaf, space in leaf_spaces(env.action_space).items():
        if actions and isinstance(space, spaces.Discrete) and not _all_within(actions[leaf], space):
            raise EpisodeFileError(f"{where} holds an action that is not among the {space.n} of the env")
    for index in range(len(next(iter(actions.values()), ()))):
        rows = {leaf: np.asarray(array[index], wanted[leaf][1]) for leaf, array in actions.items()}
        yield owned_action(env.action_space, read_leaves(env.action_space, rows))


def _all_within(choices: Array, space: spaces.Discrete) -> bool:
    return not len(choices) or bool(choices.min() >= space.start and choices.max() < space.start + space.n)


def metrics_now(env: SlotEnv) -> dict[str, float]:
    """Return the metrics of the episode so far with the precision that a block keeps, without what is not known."""
    values = np.asarray(env.episode_metrics(), np.float32).tolist()
    return {name: value for name, value in zip(env.metric_names, values, strict=True) if value == value}

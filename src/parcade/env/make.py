"""From an EnvSpec to a running env."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym

from parcade.console.base import Console
from parcade.console.registry import check_playable, open_console
from parcade.console.rom import Rom, builtin_rom, expect_sha1, read_rom
from parcade.env.by_id import make_by_id
from parcade.env.console_env import ConsoleEnv
from parcade.env.fingerprint import LARGEST
from parcade.env.judged import own_arguments
from parcade.env.preprocessing import PreprocessedEnv, is_picture
from parcade.env.preprocessing_record import Preprocessing
from parcade.env.slot import CopyingSlotEnv, as_slot_env
from parcade.env.spec import EnvSpec
from parcade.env.visited import check_visited
from parcade.errors import EnvError, RomError, SaveStateError, SettingsError
from parcade.game.base import Game
from parcade.game.guide import guide_milestones
from parcade.game.titles import find_title, title_names
from parcade.host.input_file import checked_size, read_input
from parcade.host.own_modules import importing

BEFORE_THE_GAME = "this state is before the game begins; save one while you control the hero, to train from it"
# Of a Gymnasium env; false asks for what the env draws anyway.
_NOTHING_TO_DO = (Preprocessing(), Preprocessing(grayscale=False))


def make(spec: EnvSpec) -> gym.Env[Any, Any]:
    """Return the env ``spec`` describes; every fault is one clear sentence."""
    if spec.watch is None:
        return _make(spec)
    from parcade.env.pace import step_seconds
    from parcade.env.watched import WatchedEnv

    env = _make(spec.with_(render=spec.render or spec.watch.raw))
    return WatchedEnv(env, spec.watch, spec.slot or 0, step_seconds(env, spec.frame_skip), spec.info_keys)


def _make(spec: EnvSpec) -> gym.Env[Any, Any]:
    if spec.game is not None:
        return _make_game_env(spec)
    env = make_by_id(spec) if spec.env_id is not None else _call_factory(spec)
    # A Gymnasium env's pictures have their channels last, a policy wants them first.
    has_plain_pictures = is_picture(env.observation_space) and isinstance(as_slot_env(env), CopyingSlotEnv)
    if spec.preprocessing not in _NOTHING_TO_DO or (spec.env_id is not None and has_plain_pictures):
        return PreprocessedEnv(env, spec.preprocessing, spec.info_keys)
    return env


def check_spec(spec: EnvSpec) -> None:
    """Raise what ``make`` would raise for a missing or wrong file, without starting an emulator."""
    if spec.game is not None:
        game = make_game(spec)
        _check_pictures(spec)
        if spec.guide is not None:
            guide_milestones(spec.guide, game)
        if spec.visited:
            check_visited(game)
        check_playable(find_rom(spec, game), spec.console, game.system)
        save_state_files(spec.state)


def make_game(spec: EnvSpec) -> Game[Any, Any]:
    """Return the title with its options set."""
    return find_title(spec.game or "", spec.game_options)


def _check_pictures(spec: EnvSpec) -> None:
    given = [name for name in ("grayscale", "picture_size") if getattr(spec, name) is not None]
    if given and spec.observation == "features":
        raise SettingsError(
            f"{given[0]} is given, but {spec.label} is observed as features, which hold no picture; "
            "use observation pixels or both"
        )


def find_rom(spec: EnvSpec, game: Game[Any, Any]) -> Rom:
    """Return the ROM of a title: the user's, checked by hash, or the package's own."""
    if spec.rom is None:
        if game.retro_rom is not None:
            from parcade.console.libretro import integrated_rom

            return integrated_rom(game.retro_rom)
        if game.builtin_rom is None:
            raise RomError(f"{game.name} needs your own ROM; give it with --rom FILE")
        return builtin_rom(game.builtin_rom)
    rom = read_rom(spec.rom)
    if game.known_sha1:
        expect_sha1(rom, dict(game.known_sha1), game.name)
    elif rom.system != game.system and game.system in ("gb", "gba"):
        raise RomError(f"{game.name} is a {game.system} game, but {rom.name} is no {game.system} ROM")
    return rom


def title_of_rom(rom: Rom) -> str:
    """Return the name of the title whose cartridge ``rom`` is, told by its hash; an unknown one raises RomError."""
    for name in title_names():
        game = find_title(name)
        own = builtin_rom(game.builtin_rom).sha1 if game.builtin_rom else None
        if rom.sha1 == own or rom.sha1 in game.known_sha1:
            return name
    raise RomError(
        f"{rom.name} (SHA-1 {rom.sha1}) belongs to no title that Parcade knows; name the game that reads it "
        "with --game, or write one (`parcade inspect --rom FILE` finds its addresses, see docs/add-a-game.md)"
    )


def save_state_files(path: str | None) -> list[Path]:
    """Return the file at ``path``, or all files of a folder in the order of their names; none may be empty.

    The picture that `parcade play` lays beside a state is no state.
    """
    if path is None:
        return []
    place = Path(path)
    try:
        files = sorted(p for p in place.iterdir() if p.is_file()) if place.is_dir() else [place]
        files = [file for file in files if not _is_picture_of(file, files)]
        empty = [file for file in files if not checked_size(file, LARGEST)]
    except FileNotFoundError:
        raise SaveStateError(f"there is no save state at {path}") from None
    except OSError as error:
        raise SaveStateError(f"the save state {path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise SaveStateError(f"the save state {path!r} cannot be read: its path is not valid") from None
    if not files:
        raise SaveStateError(f"the folder {path} holds no save state; put one file or more into it")
    if empty:
        raise SaveStateError(f"the save state {empty[0]} is empty; make it anew")
    return files


def _is_picture_of(file: Path, files: list[Path]) -> bool:
    return file.suffix == ".png" and file.with_suffix(".state") in files


def read_save_states(
    path: str | None, slot: int | None = None, console: Console | None = None, game: Game[Any, Any] | None = None
) -> list[bytes]:
    """Return the states at ``path``: of a folder all, or the one of ``slot``, dealt out in turn.

    A ``console`` is made to load each, so that a damaged or foreign one is named before anything runs; with a ``game``,
    also one from before the game begins.
    """
    files = save_state_files(path)
    if slot is not None and files:
        files = [files[slot % len(files)]]
    states = []
    for file in files:
        try:
            states.append(read_input(file, LARGEST))
            if console is not None:
                console.load(states[-1])
                if game is not None and not game.can_start_from(game.read(console)):
                    raise SaveStateError(BEFORE_THE_GAME)
        except OSError as error:
            raise SaveStateError(f"the save state {file} cannot be read: {error.strerror}") from None
        except SaveStateError as error:
            raise SaveStateError(f"{file}: {error}") from None
    return states


def _make_game_env(spec: EnvSpec) -> ConsoleEnv:
    game = make_game(spec)
    _check_pictures(spec)
    console = open_console(find_rom(spec, game), spec.console, game.system)
    try:
        save_states = read_save_states(spec.state, None if spec.holds_all_states else spec.slot, console, game)
        if game.retro_rom is not None and not save_states:
            from parcade.console.libretro import integrated_state

            save_states = [integrated_state(game.retro_rom)]
    except SaveStateError:
        console.close()
        raise
    return ConsoleEnv(
        console,
        game,
        observation=spec.observation,
        frame_skip=spec.frame_skip,
        frames_stack=spec.frames_stack,
        grayscale=spec.grayscale is not False,
        picture_size=spec.picture_size or "half",
        max_steps=spec.max_steps,
        reward_weights=spec.reward_weights,
        save_states=save_states,
        render=spec.render,
        guide=spec.guide,
        visited=spec.visited,
    )


def _call_factory(spec: EnvSpec) -> gym.Env[Any, Any]:
    import cloudpickle

    assert spec.factory is not None
    own_arguments(spec)  # refuses what only a registered env takes
    with importing("of the env's function"):
        factory = cloudpickle.loads(spec.factory)
    env = factory()
    if not isinstance(env, gym.Env):
        raise EnvError(f"the env factory returned {type(env).__name__}, wanted a gymnasium.Env")
    return env

"""From an EnvSpec to a running env."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym

from parcade.console.base import Console
from parcade.console.rom import Rom, builtin_rom, expect_sha1, read_rom
from parcade.env.console_env import ConsoleEnv
from parcade.env.pixels import PreprocessedEnv, is_picture
from parcade.env.register import RACING, register_envs
from parcade.env.slot import CopyingSlotEnv, as_slot_env
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, MissingExtraError, RomError, SaveStateError, SettingsError, did_you_mean
from parcade.game.base import Game
from parcade.game.titles import find_modules_here, find_title

CONSOLES = ("auto", "pyboy", "mgba", "libretro")
_NOT_FOR_GAMES = {
    "crop": "its picture is half size",
    "resize": "its picture is half size",
    "reward_clip": "weigh its rewards with reward_weights",
    "action_scale": "its actions are named buttons",
    "missed_tile_cost": "it has no road",
    "patience": "the title says when an episode is over",
}


def make(spec: EnvSpec) -> gym.Env[Any, Any]:
    """Return the env ``spec`` describes; every fault is one clear sentence."""
    if spec.watch is None:
        return _make(spec)
    from parcade.env.watched import WatchedEnv

    return WatchedEnv(_make(spec.with_(render=spec.render or spec.watch.raw)), spec.watch, spec.slot or 0)


def _make(spec: EnvSpec) -> gym.Env[Any, Any]:
    if spec.game is not None:
        return _make_game_env(spec)
    env = _make_gymnasium_env(spec) if spec.env_id is not None else _call_factory(spec)
    # A Gymnasium env's pictures have their channels last, a policy wants them first.
    has_plain_pictures = is_picture(env.observation_space) and isinstance(as_slot_env(env), CopyingSlotEnv)
    if _preprocesses(spec) or (spec.env_id is not None and has_plain_pictures):
        return PreprocessedEnv(
            env,
            frame_skip=spec.frame_skip or 1,
            frames_stack=spec.frames_stack,
            grayscale=spec.grayscale,
            crop=spec.crop,
            resize=spec.resize,
            reward_clip=spec.reward_clip,
            max_steps=spec.max_steps,
            action_scale=spec.action_scale,
            missed_tile_cost=spec.missed_tile_cost or None,
            patience=spec.patience,
        )
    return env


def check_spec(spec: EnvSpec) -> None:
    """Raise what ``make`` would raise for a missing or wrong file, without starting an emulator."""
    if spec.game is not None:
        game = make_game(spec)
        find_rom(spec, game)
        save_state_files(spec.state)


def make_game(spec: EnvSpec) -> Game[Any, Any]:
    """Return the title with its options set."""
    game = find_title(spec.game or "")
    for name, advice in _NOT_FOR_GAMES.items():
        if getattr(spec, name) is not None:
            raise SettingsError(f"{name} is for Gymnasium envs, not for the game {game.name}; {advice}")
    if not spec.game_options:
        return game
    try:
        return type(game)(**spec.game_options)
    except TypeError:
        raise SettingsError(_unknown_option(game, spec.game_options)) from None


def _unknown_option(game: Game[Any, Any], given: Mapping[str, Any]) -> str:
    known = list(inspect.signature(type(game)).parameters)
    if not known:
        return f"{game.name} has no options, got {', '.join(given)}"
    wrong = [f"{name!r}{did_you_mean(name, known)}" for name in given if name not in known]
    if not wrong:
        return f"{game.name} does not take {', '.join(f'{name}={value}' for name, value in given.items())}"
    return f"{game.name} has no option {', '.join(wrong)}; it has {', '.join(known)}"


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


def console_for(system: str, wanted: str = "auto") -> str:
    """Return which emulator plays games of ``system``: pyboy, mgba or libretro; ``wanted`` may name one."""
    if wanted not in CONSOLES:
        hint = did_you_mean(wanted, CONSOLES)
        raise SettingsError(f"console {wanted!r} is not known{hint}; use {', '.join(CONSOLES)}")
    played = {"gb": ("pyboy", "mgba", "libretro"), "gba": ("mgba", "libretro")}.get(system, ("libretro",))
    if wanted == "auto":
        return "libretro" if system == "gba" and _only_libretro_is_here() else played[0]
    if wanted not in played:
        raise SettingsError(f"{wanted} does not play {system} games; use {' or '.join(played)}")
    return wanted


def _only_libretro_is_here() -> bool:
    from parcade.console.gba import has_mgba
    from parcade.console.libretro import has_stable_retro

    return not has_mgba() and has_stable_retro()


def open_console(rom: Rom, wanted: str = "auto", system: str | None = None) -> Console:
    """Return the console that plays ``rom``; ``system`` is told for machines that its header does not tell."""
    if not (rom.system or system):
        raise RomError(f"{rom.name} is neither a Game Boy nor a Game Boy Advance ROM")
    system = rom.system or system or ""
    console = console_for(system, wanted)
    if console == "pyboy":
        from parcade.console.gameboy import GameBoy

        return GameBoy(rom)
    if console == "libretro":
        from parcade.console.libretro import LibretroConsole

        return LibretroConsole(rom)
    from parcade.console.gba import GameBoyAdvance, MgbaGameBoy

    return GameBoyAdvance(rom) if system == "gba" else MgbaGameBoy(rom)


def save_state_files(path: str | None) -> list[Path]:
    """Return the file at ``path``, or all files of a folder in the order of their names; none may be empty."""
    if path is None:
        return []
    place = Path(path)
    try:
        files = sorted(p for p in place.iterdir() if p.is_file()) if place.is_dir() else [place]
        empty = [file for file in files if not file.stat().st_size]
    except FileNotFoundError:
        raise SaveStateError(f"there is no save state at {path}") from None
    except OSError as error:
        raise SaveStateError(f"the save state {path} cannot be read: {error.strerror}") from None
    if not files:
        raise SaveStateError(f"the folder {path} holds no save state; put one file or more into it")
    if empty:
        raise SaveStateError(f"the save state {empty[0]} is empty; make it anew")
    return files


def read_save_states(path: str | None, slot: int | None = None, console: Console | None = None) -> list[bytes]:
    """Return the states at ``path``: of a folder all, or the one of ``slot``, dealt out in turn.

    A ``console`` is made to load each, so that a damaged or foreign one is named before anything runs.
    """
    files = save_state_files(path)
    if slot is not None and files:
        files = [files[slot % len(files)]]
    states = []
    for file in files:
        try:
            states.append(file.read_bytes())
            if console is not None:
                console.load(states[-1])
        except OSError as error:
            raise SaveStateError(f"the save state {file} cannot be read: {error.strerror}") from None
        except SaveStateError as error:
            raise SaveStateError(f"{file}: {error}") from None
    return states


def _make_game_env(spec: EnvSpec) -> ConsoleEnv:
    game = make_game(spec)
    console = open_console(find_rom(spec, game), spec.console, game.system)
    try:
        save_states = read_save_states(spec.state, spec.slot, console)
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
        max_steps=spec.max_steps,
        reward_weights=spec.reward_weights,
        save_states=save_states,
        render=spec.render,
    )


def _make_gymnasium_env(spec: EnvSpec) -> gym.Env[Any, Any]:
    if spec.imports:
        find_modules_here()
    for module in spec.imports:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise EnvError(f"--import {module} failed: {error}") from None
    assert spec.env_id is not None
    register_envs()
    if spec.env_id.startswith("ALE/"):
        _register_atari(spec.env_id)
    kwargs = {"render_mode": "rgb_array", **spec.env_kwargs} if spec.render else dict(spec.env_kwargs)
    if spec.env_id == RACING:  # it draws straight to grey and to the wanted size
        kwargs |= {"grayscale": spec.grayscale} | ({"size": spec.resize} if spec.resize and not spec.crop else {})
    try:
        return gym.make(spec.env_id, **kwargs)
    except gym.error.UnregisteredEnv:
        hint = did_you_mean(spec.env_id, gym.registry)
        raise EnvError(
            f"env id {spec.env_id!r} is not registered{hint}; name its package with --import if it is your own"
        ) from None
    except gym.error.DependencyNotInstalled as error:
        first_line = str(error).splitlines()[0]
        if "box2d" in first_line.lower():
            raise _needs_box2d(spec.env_id) from None
        raise MissingExtraError(f"{spec.env_id} needs a package that is not installed: {first_line}") from None
    except ModuleNotFoundError as error:
        if error.name == "Box2D":  # our own CarRacing imports it by itself
            raise _needs_box2d(spec.env_id) from None
        raise
    except (gym.error.Error, TypeError) as error:
        raise EnvError(f"{spec.env_id} cannot be made: {error}") from None


def _needs_box2d(env_id: str) -> MissingExtraError:
    return MissingExtraError(f"{env_id} needs Box2D; pip install 'parcade[racing]'")


def _register_atari(env_id: str) -> None:
    try:
        import ale_py
    except ImportError:
        raise MissingExtraError(f"{env_id} needs ale-py; pip install 'parcade[atari]'") from None
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # else every env greets on stderr
    gym.register_envs(ale_py)


def _call_factory(spec: EnvSpec) -> gym.Env[Any, Any]:
    import cloudpickle  # type: ignore[import-untyped]

    assert spec.factory is not None
    env = cloudpickle.loads(spec.factory)()
    if not isinstance(env, gym.Env):
        raise EnvError(f"the env factory returned {type(env).__name__}, wanted a gymnasium.Env")
    return env


def _preprocesses(spec: EnvSpec) -> bool:
    plain = EnvSpec(factory=b"")
    pictures = ("frame_skip", "frames_stack", "grayscale", "crop", "resize")
    others = ("reward_clip", "max_steps", "action_scale", "missed_tile_cost", "patience")
    return any(getattr(spec, name) != getattr(plain, name) for name in pictures + others)

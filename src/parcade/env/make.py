"""From an EnvSpec to a running env."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import gymnasium as gym

from parcade.console.base import Console
from parcade.console.rom import Rom, builtin_rom, expect_sha1, read_rom
from parcade.env.console_env import ConsoleEnv
from parcade.env.pixels import PreprocessedEnv
from parcade.env.register import RACING, register_envs
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, MissingExtraError, RomError, SaveStateError, SettingsError, did_you_mean
from parcade.game.base import Game
from parcade.game.titles import find_modules_here, find_title


def make(spec: EnvSpec) -> gym.Env[Any, Any]:
    """Return the env ``spec`` describes; every fault is one clear sentence."""
    if spec.game is not None:
        return _make_game_env(spec)
    env = _make_gymnasium_env(spec) if spec.env_id is not None else _call_factory(spec)
    if _preprocesses(spec):
        return PreprocessedEnv(
            env,
            frame_skip=spec.frame_skip or 1,
            frames_stack=spec.frames_stack,
            grayscale=spec.grayscale,
            resize=spec.resize,
            reward_clip=spec.reward_clip,
            max_steps=spec.max_steps,
        )
    return env


def check_spec(spec: EnvSpec) -> None:
    """Raise what ``make`` would raise for a missing or wrong file, without starting an emulator."""
    if spec.game is not None:
        game = make_game(spec)
        find_rom(spec, game)
        read_save_states(spec.state)


def make_game(spec: EnvSpec) -> Game[Any, Any]:
    """Return the title with its options set."""
    game = find_title(spec.game or "")
    if not spec.game_options:
        return game
    try:
        return type(game)(**spec.game_options)
    except TypeError:
        raise SettingsError(f"{game.name} does not take the options {dict(spec.game_options)}") from None


def find_rom(spec: EnvSpec, game: Game[Any, Any]) -> Rom:
    """Return the ROM of a title: the user's, checked by hash, or the package's own."""
    if spec.rom is None:
        if game.builtin_rom is None:
            raise RomError(f"{game.name} needs your own ROM; give it with --rom FILE")
        return builtin_rom(game.builtin_rom)
    rom = read_rom(spec.rom)
    if game.known_sha1:
        expect_sha1(rom, dict(game.known_sha1), game.name)
    elif rom.system != game.system:
        raise RomError(f"{game.name} is a {game.system} game, but {rom.name} is no {game.system} ROM")
    return rom


def open_console(rom: Rom, wanted: str = "auto") -> Console:
    """Return the console that plays ``rom``; ``wanted`` is auto, pyboy or mgba."""
    if wanted not in ("auto", "pyboy", "mgba"):
        raise SettingsError(f"console {wanted!r} is not known; use auto, pyboy or mgba")
    if rom.system == "gb" and wanted != "mgba":
        from parcade.console.gameboy import GameBoy

        return GameBoy(rom)
    if not rom.system:
        raise RomError(f"{rom.name} is neither a Game Boy nor a Game Boy Advance ROM")
    from parcade.console.gba import GameBoyAdvance, MgbaGameBoy

    return GameBoyAdvance(rom) if rom.system == "gba" else MgbaGameBoy(rom)


def read_save_states(path: str | None) -> list[bytes]:
    """Return the save state at ``path``, or all files of a folder in the order of their names."""
    if path is None:
        return []
    place = Path(path)
    try:
        files = sorted(p for p in place.iterdir() if p.is_file()) if place.is_dir() else [place]
        states = [file.read_bytes() for file in files]
    except FileNotFoundError:
        raise SaveStateError(f"there is no save state at {path}") from None
    except OSError as error:
        raise SaveStateError(f"the save state {path} cannot be read: {error.strerror}") from None
    if not states or not all(states):
        raise SaveStateError(f"{path} holds no save state")
    return states


def _make_game_env(spec: EnvSpec) -> ConsoleEnv:
    game = make_game(spec)
    console = open_console(find_rom(spec, game), spec.console)
    return ConsoleEnv(
        console,
        game,
        observation=spec.observation,
        frame_skip=spec.frame_skip,
        frames_stack=spec.frames_stack,
        max_steps=spec.max_steps,
        reward_weights=spec.reward_weights,
        save_states=read_save_states(spec.state),
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
    kwargs = {"render_mode": "rgb_array", **spec.env_kwargs} if spec.render else dict(spec.env_kwargs)
    if spec.env_id == RACING:  # it draws straight to grey and to the wanted size
        kwargs |= {"grayscale": spec.grayscale} | ({"size": spec.resize} if spec.resize else {})
    try:
        return gym.make(spec.env_id, **kwargs)
    except gym.error.UnregisteredEnv:
        hint = did_you_mean(spec.env_id, gym.registry)
        raise EnvError(
            f"env id {spec.env_id!r} is not registered{hint}; name its package with --import if it is your own"
        ) from None
    except gym.error.DependencyNotInstalled as error:
        first_line = str(error).splitlines()[0]
        raise MissingExtraError(f"{spec.env_id} needs a package that is not installed: {first_line}") from None
    except (gym.error.Error, TypeError) as error:
        raise EnvError(f"{spec.env_id} cannot be made: {error}") from None


def _call_factory(spec: EnvSpec) -> gym.Env[Any, Any]:
    import cloudpickle  # type: ignore[import-untyped]

    assert spec.factory is not None
    env = cloudpickle.loads(spec.factory)()
    if not isinstance(env, gym.Env):
        raise EnvError(f"the env factory returned {type(env).__name__}, wanted a gymnasium.Env")
    return env


def _preprocesses(spec: EnvSpec) -> bool:
    plain = EnvSpec(factory=b"")
    names = ("frame_skip", "frames_stack", "grayscale", "resize", "reward_clip", "max_steps")
    return any(getattr(spec, name) != getattr(plain, name) for name in names)

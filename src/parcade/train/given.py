"""From what a person gave, flags or a file, to settings and the env they mean; torch is not needed for that."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from parcade.config.coach_fields import coach_settings
from parcade.config.file import read_config
from parcade.config.fitting import usual_envs
from parcade.config.llm_address import check_server_named
from parcade.config.settings import TrainSettings, make_settings
from parcade.console.rom import read_rom
from parcade.env.by_id import own_frame_skip
from parcade.env.foreign import check_config_modules
from parcade.env.judged import completed, trained_as
from parcade.env.make import make_game, title_of_rom
from parcade.env.spec import EnvSpec
from parcade.env.visited import check_visited
from parcade.errors import EnvError, SettingsError
from parcade.game.base import Game
from parcade.game.guide import guide_milestones, with_room
from parcade.train.measured import measured

log = logging.getLogger("parcade.train")


def with_title(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the title that the ROM belongs to, where a ROM was given and no game named."""
    rom = given.get("rom")
    if not isinstance(rom, str) or given.get("game") is not None or given.get("env_id") is not None:
        return given
    return {**given, "game": title_of_rom(read_rom(rom))}


def settings_for(given: dict[str, Any]) -> TrainSettings:
    """Return settings with the title's own recommendations under what the user gave."""
    given = measured(completed(with_title(given)))
    settings = make_settings(given)
    if settings.env_factory is None:
        spec = env_spec(settings)  # refuses settings that are not for this env
        title = {} if settings.game is None else _title_of(spec).training
    else:
        title = {}
    settings = make_settings(given, title)
    _warn_of_skips(settings)
    if given.get("n_envs") is None and settings.envs < int(title.get("n_envs") or usual_envs()):
        log.warning(
            "n_envs is %d, because n_steps is %s: an update has %s steps; give n_envs for another number",
            *(settings.envs, f"{settings.n_steps:,}", f"{settings.rows_per_update:,}"),
        )
    return settings


def _warn_of_skips(settings: TrainSettings) -> None:
    """Say that the frames of a step multiply where the env skips some by itself, as ALE/…-v5 does."""
    skip = settings.frame_skip or 1
    if skip == 1 or settings.env_id is None:
        return
    try:
        own = own_frame_skip(env_spec(settings))
    except EnvError:  # told when the env is made
        return
    if own > 1:
        log.warning(
            "frame_skip %d multiplies with the env's own frameskip %d, so a step takes %d frames; "
            "leave frame_skip out, or give env_kwargs frameskip=1",
            *(skip, own, skip * own),
        )


def _title_of(spec: EnvSpec) -> Game[Any, Any]:
    """Return the title of an env; a guide that is not for it is refused."""
    game = make_game(spec)
    if spec.guide is not None:
        guide_milestones(spec.guide, game)
    if spec.visited:
        check_visited(game)
    return game


def settings_of_file(path: str, flags: dict[str, Any]) -> TrainSettings:
    """Return the settings of a config file with the user's flags over them; its modules are checked, then imported."""
    given = {**read_config(path), **flags}
    settings = make_settings(given)
    check_config_modules(env_spec(settings), flags, f"the config file {path}")
    check_coach(settings, flags, f"the config file {path}")
    return settings_for(given)


def check_coach(settings: TrainSettings, named: Mapping[str, Any], where: str) -> None:
    """Refuse a coach whose server only the file ``where`` names; ``named`` are the user's own settings."""
    if settings.coach_replay is None:
        check_server_named(settings.llm, settings.llm_key_env, named, where)


def env_spec(settings: TrainSettings, factory: bytes | None = None) -> EnvSpec:
    """Return the env a training runs in; ``factory`` is the pickled function that ``env_factory`` names.

    Settings that are not for this env raise SettingsError.
    """
    if settings.env_factory is not None and factory is None:
        raise SettingsError(
            f"env_factory {settings.env_factory!r} is a function in Python, which no file can hold; "
            "give it with env= to parcade.train, parcade.resume or parcade.evaluate"
        )
    names = set(EnvSpec.__dataclass_fields__) & set(TrainSettings.model_fields)
    spec = EnvSpec(
        **{name: getattr(settings, name) for name in names}, factory=factory, factory_name=settings.env_factory or ""
    )
    if settings.coach and spec.guide is not None:  # the network keeps its shape whatever a coach adds
        spec = spec.with_(guide=with_room(spec.guide, coach_settings(settings.coach).places))
    return trained_as(spec, settings.racing)

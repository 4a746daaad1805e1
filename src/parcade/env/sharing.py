"""What the envs of one pool must share or may not share: processes, and a folder of save states."""

from __future__ import annotations

import logging

from parcade.console.registry import console_for, missing_for
from parcade.env.make import make_game, save_state_files
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError

log = logging.getLogger("parcade.env")


def one_console_per_process(spec: EnvSpec) -> bool:
    """Whether each env of ``spec`` needs a process of its own, as libretro's cores do."""
    return spec.game is not None and console_for(make_game(spec).system, spec.console).one_per_process


def workers_for(spec: EnvSpec, n_envs: int, n_workers: int | None) -> int | None:
    """Return the number of workers to open: the one asked for, or one for each env where a process holds only one.

    What the pool will do and nobody asked for is logged: workers given to each game, states that no game starts from.
    """
    n_states = len(save_state_files(spec.state))
    if n_states > n_envs and not spec.holds_all_states:
        log.warning(
            "%s holds %d save states for %d games, so the last %d are never used; give n_envs %d to use all",
            *(spec.state, n_states, n_envs, n_states - n_envs, n_states),
        )
    if not one_console_per_process(spec):
        return n_workers
    why = _why_libretro(spec)
    if n_workers not in (None, n_envs):
        raise SettingsError(
            f"n_workers is {n_workers}, but {spec.label} plays on libretro{why}, which runs one console per process; "
            f"{n_envs} games need {n_envs} workers: leave n_workers out, or give fewer n_envs"
        )
    told = (spec.label, why, n_envs)
    log.warning("%s plays on libretro%s, one console per process: each of %d games gets a worker", *told)
    return n_envs


def _why_libretro(spec: EnvSpec) -> str:
    missing = missing_for(make_game(spec).system, spec.console)
    return "" if missing is None else f" ({missing} is not here; `parcade doctor` says what it needs)"

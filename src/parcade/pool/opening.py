"""The one way to a pool: with worker processes, or without."""

from __future__ import annotations

import inspect
from typing import Any

from parcade.env.by_id import with_registration
from parcade.env.sharing import workers_for
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError, did_you_mean
from parcade.host.own_modules import refuse_while_importing
from parcade.pool.process_pool import ProcessPool
from parcade.pool.serial_pool import SerialPool

POOL_OPTIONS = set(inspect.signature(ProcessPool).parameters) - {"spec", "n_envs"}
_FOR_BOTH = ("seed", "n_groups", "episodes")


def open_pool(spec: EnvSpec, n_envs: int, *, n_workers: int | None = None, **options: Any) -> ProcessPool | SerialPool:
    """Return ``n_envs`` envs in ``n_workers`` processes (0: all in this one; None: as many as there are cores).

    ``options`` are the arguments of ``ProcessPool``; without processes those about processes have no meaning.
    """
    refuse_while_importing("a pool of envs")
    unknown = [name for name in options if name not in POOL_OPTIONS]
    if unknown:
        hint = did_you_mean(unknown[0], sorted(POOL_OPTIONS))
        raise SettingsError(f"a pool has no option {unknown[0]!r}{hint}")
    n_workers = workers_for(spec, n_envs, n_workers)
    spec = with_registration(spec)
    if n_workers == 0:
        return SerialPool(spec, n_envs, **{name: options[name] for name in _FOR_BOTH if name in options})
    return ProcessPool(spec, n_envs, n_workers=n_workers, **options)

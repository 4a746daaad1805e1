"""Which run a verb means: the folder that was named, or the newest one."""

from __future__ import annotations

import sys
from pathlib import Path

from parcade.cli.flags import UsageError
from parcade.config.settings import TrainSettings


def named_or_newest(named: str | None, log_root: str | None) -> str:
    """Return the run's folder; without a name the newest below ``log_root``, which is told."""
    from parcade.run.directory import newest_run

    if named is not None:
        return named
    root = log_root or TrainSettings.model_fields["log_root"].default
    newest = newest_run(Path(root))
    if newest is None:
        raise UsageError(f"there is no run in {root}/; give the folder of a run")
    print(f"the newest run is {newest}", file=sys.stderr)
    return str(newest)

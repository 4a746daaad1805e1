"""The sweep's storage: the journal file of Optuna (its word for it), which several processes and machines append to."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from parcade.errors import MissingExtraError, RunError, SettingsError
from parcade.run.lock import held
from parcade.tune.sweep.plan import SweepPlan, differing
from parcade.tune.sweep.records import TrialRecord

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

_FORMAT = 1
_PATIENCE_S = 120.0  # for another process that decides


def load_optuna() -> ModuleType:
    """Return Optuna, silent; one sentence where it is not installed."""
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("sweeps need Optuna: pip install 'parcade[sweep]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class KernelLock:
    """A lock of the kernel's: it is free again when its holder is killed. Optuna's own would be waited for."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, -1

    def acquire(self) -> bool:
        """Wait until nobody else writes."""
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        if fcntl is not None:
            fcntl.lockf(self._file, fcntl.LOCK_EX)
        return True

    def release(self) -> None:
        """Let others write."""
        os.close(self._file)


class SweepJournal:
    """Reads and writes the trials of one sweep."""

    def __init__(self, folder: Path, plan: SweepPlan) -> None:
        optuna = load_optuna()
        from optuna.storages.journal import JournalFileBackend, JournalStorage

        self.folder, self._plan, self._optuna = folder, plan, optuna
        path = folder / "journal.log"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self.deciding():
                lock: Any = KernelLock(folder / "journal.log.lock")
                _cut_torn_line(path, lock)
                self._storage = JournalStorage(JournalFileBackend(str(path), lock_obj=lock))
                self._study = self._open_study()
        except OSError as error:
            raise SettingsError(f"a sweep cannot be stored in {folder}: {error.strerror}") from None
        except (ValueError, KeyError, AssertionError) as error:
            raise SettingsError(
                f"{path} is not the storage of a sweep ({str(error)[:200] or type(error).__name__}); "
                "choose another --out"
            ) from None

    def _open_study(self) -> int:
        """Return the study of this sweep, made where there is none; one of another sweep is refused."""
        directions = [getattr(self._optuna.study.StudyDirection, d.upper()) for d in self._plan.objective.directions]
        ours = {"format": _FORMAT, **self._plan.content}
        studies = self._storage.get_all_studies()
        if not studies:
            found = self._storage.create_new_study(directions, self._plan.name)
            self._storage.set_study_user_attr(found, "sweep", ours)
            return found
        theirs = studies[0].user_attrs.get("sweep")
        if len(studies) > 1 or not isinstance(theirs, dict):
            raise SettingsError(f"the storage in {self.folder} is not one of parcade sweep; choose another --out")
        if theirs != ours:
            raise SettingsError(
                f"{self.folder} holds another sweep: {differing(ours, theirs)}; choose another name or --out, "
                "or delete that folder"
            )
        return self._storage.get_study_id_from_name(studies[0].study_name)

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Be the only process, of all on this sweep, that decides what is done next."""
        with ExitStack() as stack:
            self._wait_for_turn(stack)
            yield

    def _wait_for_turn(self, stack: ExitStack) -> None:
        path, until_s = self.folder / "locks" / "deciding", time.monotonic() + _PATIENCE_S
        while True:
            try:
                stack.enter_context(held(path))
                return
            except RunError:
                if time.monotonic() > until_s:
                    raise RunError(f"another process has held {path} for {_PATIENCE_S:g} s; stop it first") from None
            time.sleep(0.02)

    def trials(self) -> list[TrialRecord]:
        """Return all trials as they stand now, in the order of their numbers."""
        return [self._record(trial) for trial in self._storage.get_all_trials(self._study, deepcopy=False)]

    def _record(self, trial: Any) -> TrialRecord:
        state = self._optuna.trial.TrialState
        noted, scores = trial.user_attrs, dict(trial.intermediate_values)
        told = {state.COMPLETE: "complete", state.FAIL: "failed"}.get(trial.state)
        target = noted["target"]
        named: Any = told or ("paused" if target in scores else "under way")
        point = {one.name: one.value(trial.params[one.name]) for one in self._plan.ranges if one.name in trial.params}
        return TrialRecord(
            number=trial.number,
            point=point,
            state=named,
            target=target,
            scores=scores,
            values=tuple(trial.values or ()),
            reason=noted.get("reason", ""),
            env_steps=noted.get("env_steps", 0),
            seconds=noted.get("seconds", math.nan),
            reached=noted.get("reached", False),
        )

    def job_of(self, number: int) -> dict[str, Any]:
        """Return which process took a trial last."""
        noted = self._storage.get_trial(self._id(number)).user_attrs
        return dict(noted.get("job", {}))

    def add(self, point: dict[str, Any], target: int, job: dict[str, Any]) -> None:
        """Write down a new trial, in one line of the journal: it is there whole or not at all."""
        from parcade.tune.sweep.sampling import distribution

        ranges = {one.name: one for one in self._plan.ranges if one.name in point}
        template = self._optuna.trial.create_trial(
            state=self._optuna.trial.TrialState.RUNNING,
            params={name: one.label(point[name]) for name, one in ranges.items()},
            distributions={name: distribution(one) for name, one in ranges.items()},
            user_attrs={"target": target, "job": job},
        )
        self._storage.create_new_trial(self._study, template_trial=template)

    def take(self, number: int, target: int, job: dict[str, Any]) -> None:
        """Note that a job goes on with a trial, up to ``target``."""
        self._storage.set_trial_user_attr(self._id(number), "job", job)
        self._storage.set_trial_user_attr(self._id(number), "target", target)

    def pause(self, number: int, rung: int, score: float, facts: dict[str, Any]) -> None:
        """Note what a trial came to at a rung."""
        self._note_facts(number, facts)
        self.score(number, rung, score)

    def score(self, number: int, rung: int, score: float) -> None:
        """Note a trial's metric at a rung, unless it stands there."""
        if rung not in self._storage.get_trial(self._id(number)).intermediate_values:
            self._storage.set_trial_intermediate_value(self._id(number), rung, score)

    def complete(self, number: int, values: list[float], facts: dict[str, Any]) -> None:
        """Note what a trial came to at its end."""
        self._note_facts(number, facts)
        self._storage.set_trial_state_values(self._id(number), self._optuna.trial.TrialState.COMPLETE, values)

    def _note_facts(self, number: int, facts: dict[str, Any]) -> None:
        for key, value in facts.items():
            self._storage.set_trial_user_attr(self._id(number), key, value)

    def fail(self, number: int, reason: str) -> None:
        """Note that a trial cannot be trained."""
        self._storage.set_trial_user_attr(self._id(number), "reason", reason)
        self._storage.set_trial_state_values(self._id(number), self._optuna.trial.TrialState.FAIL)

    def noted(self, key: str) -> Any:
        """Return what the sweep as a whole has noted under a key; None where nothing."""
        return self._storage.get_study_user_attrs(self._study).get(key)

    def note(self, key: str, value: Any) -> None:
        """Note something of the sweep as a whole."""
        self._storage.set_study_user_attr(self._study, key, value)

    def study(self) -> Any:
        """Return the sweep as a study of Optuna's."""
        return self._optuna.load_study(study_name=self._plan.name, storage=self._storage)

    def _id(self, number: int) -> int:
        return int(self._storage.get_trial_id_from_study_id_trial_number(self._study, number))


def _cut_torn_line(path: Path, lock: KernelLock) -> None:
    """Cut off a last line that was not written to its end: the power failed, or the disk was full."""
    if not path.exists():
        return
    lock.acquire()  # or the line is one that another process is writing
    try:
        with open(path, "rb+") as file:
            data = file.read()
            if data and not data.endswith(b"\n"):
                file.truncate(data.rfind(b"\n") + 1)
    finally:
        lock.release()

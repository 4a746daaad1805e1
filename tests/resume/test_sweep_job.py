"""A job of a sweep in this process: killed at any row, or promoted, it ends in the numbers of an unbroken one."""

import random
import shutil
from pathlib import Path

import pytest
from sweeps import TEXT, results, rows, written

pytest.importorskip("optuna")

from parcade.errors import RunError
from parcade.run.model_file import load_model
from parcade.train.start import train
from parcade.tune.sweep.file import read_sweep
from parcade.tune.sweep.job import Job, JobOrders
from parcade.tune.sweep.outcome import Outcome
from parcade.tune.sweep.sweep import Sweep


class KilledError(BaseException):
    """Ends a job where nothing of it expects an end."""


class Channel:
    """A job's way to its sweep, which breaks at one of the rows told."""

    def __init__(self, breaks_at=None):
        self.news, self._breaks_at = [], breaks_at

    def poll(self):
        return False

    def send(self, news):
        self.news.append(news)
        if news.kind == "row":
            self._breaks_at = None if self._breaks_at is None else self._breaks_at - 1
            if self._breaks_at == 0:
                raise KilledError

    def told(self, *kinds):
        return [(one.kind, one.number) for one in self.news if one.kind in kinds]


def worked(plan, folder, breaks_at=None):
    channel = Channel(breaks_at)
    try:
        Job(JobOrders(plan, folder, 0, ()), channel).work()
    except KilledError:
        return channel, False
    return channel, True


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    plan = read_sweep(written(folder), {})
    channel, is_done = worked(plan, folder / "small")
    assert is_done
    return channel, Sweep(plan, folder / "small")


def test_halving_promotes_by_resume_and_one_comes_to_the_end(unbroken):
    channel, sweep = unbroken
    assert [number for _, number in channel.told("begun")] == [0, 1, 2, 3, 4]
    assert channel.told("resumed")
    steps = sum(rows(sweep.path_of(trial.number))[-1]["env_steps"] for trial in sweep.trials())
    assert len(channel.told("row")) == steps // 64  # nothing was computed twice
    assert {trial.state for trial in sweep.trials()} == {"paused", "complete"}


def test_a_promoted_trial_has_the_numbers_of_a_training_that_never_paused(unbroken, tmp_path):
    _, sweep = unbroken
    outcome = Outcome(sweep, sweep.trials())
    best = outcome.best
    assert len(best.scores) == 2  # it paused twice
    run = sweep.path_of(best.number)
    settings = sweep.settings_of(best.point).model_copy(update={"log_root": str(tmp_path)})
    other = Path(train(settings).run_dir)
    assert rows(run) == rows(other)
    for name in ("final_model.zip", "best_model.zip"):
        ours, theirs = (load_model(folder / "models" / name).weights for folder in (run, other))
        assert ours.keys() == theirs.keys()
        assert all((ours[key] == theirs[key]).all() for key in ours)


@pytest.mark.parametrize("seed", [1, 2])
def test_five_deaths_end_in_the_same_trials(unbroken, tmp_path, seed):
    _, sweep = unbroken
    chance = random.Random(seed)
    deaths = 0
    while deaths < 5:
        _, is_done = worked(sweep.plan, tmp_path / "small", breaks_at=chance.randint(1, 9))
        assert not is_done, "the sweep is too short for five deaths"
        deaths += 1
    assert worked(sweep.plan, tmp_path / "small")[1]
    assert results(Sweep(sweep.plan, tmp_path / "small")) == results(sweep)


def test_rows_of_a_killed_job_are_enough_where_the_storage_was_not_told(unbroken, tmp_path):
    """The job dies between the end of a part of a trial and its line in the journal: nothing is trained again."""
    _, sweep = unbroken
    folder = tmp_path / "small"
    shutil.copytree(sweep.folder, folder)
    journal = folder / "journal.log"
    lines = journal.read_text().splitlines(keepends=True)
    last = max(index for index, line in enumerate(lines) if '"intermediate_value"' in line or '"values":[' in line)
    journal.write_text("".join(lines[:last]) + lines[last][:9])  # the line before the last is torn, too
    channel, is_done = worked(sweep.plan, folder)
    assert is_done
    assert channel.told("row") == []
    assert results(Sweep(sweep.plan, folder)) == results(sweep)


def test_a_trial_that_cannot_be_trained_fails_and_the_others_go_on(tmp_path):
    text = TEXT.replace("hidden: [[16], [32, 32]]", "batch_size: [16, 512]")
    text = text.replace("budget: {n_trials: 5}", "first: [{batch_size: 512}, {batch_size: 16}]\nbudget: {n_trials: 2}")
    plan = read_sweep(written(tmp_path, text), {})
    channel, is_done = worked(plan, tmp_path / "small")
    assert is_done
    first, second = Sweep(plan, tmp_path / "small").trials()
    assert first.state == "failed"
    assert "batch_size 512 is larger than one rollout" in first.reason
    assert second.state == "complete"
    assert ("failed", 0) in channel.told("failed")
    assert channel.told("rung") == []  # trials that the file asks for do not pause,
    assert list(second.scores) == [256, 512]  # but others are compared with them


def test_three_trials_that_cannot_be_trained_are_enough(tmp_path):
    text = TEXT.replace("hidden: [[16], [32, 32]]", "batch_size: [256, 512]")
    plan = read_sweep(written(tmp_path, text), {})
    with pytest.raises(RunError, match="none of 3 trials could be trained, the last because batch_size"):
        worked(plan, tmp_path / "small")


def test_a_goal_that_is_reached_ends_a_trial_there(tmp_path):
    text = TEXT.replace("min_episodes: 5", "min_episodes: 5, reach: 15").replace("n_trials: 5", "n_trials: 1")
    plan = read_sweep(written(tmp_path, text), {})
    assert worked(plan, tmp_path / "small")[1]
    sweep = Sweep(plan, tmp_path / "small")
    (trial,) = sweep.trials()
    assert trial.reached
    assert trial.values == (float(trial.env_steps),)
    assert rows(sweep.path_of(0))[-1]["env_steps"] == trial.env_steps < 1024

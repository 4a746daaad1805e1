"""A training whose games move to other workers while it runs has the numbers of one that was left alone."""

import json
import logging
from pathlib import Path

import pytest

from parcade import train
from parcade.errors import PoolError
from parcade.pool.process_pool import ProcessPool
from parcade.run.archive import read_archive
from parcade.run.scale_order import ask, new_order, read_answer
from parcade.train import events

LANTERN = {"game": "lantern", "n_envs": 5, "n_steps": 8, "max_steps": 11}
COMMON = {
    **{"seed": 3, "total_timesteps": 240, "save_freq": 40, "num_threads": 1},
    **{"eval_freq": 0, "final_eval_episodes": 0, "video": False, "run_name": "r"},
}
CASES = {
    "features": {},
    "memory": {"lstm": 12},
    "overlap with memory": {"overlap": True, "lstm": 12},
    "archive and novelty": {"archive_share": 0.6, "novelty": 0.5, "n_steps": 24, "max_steps": 40, "frame_skip": 24},
}
WORKERS = [2, 1, 3]  # after the first, second and third update; it begins without workers


def numbers(run):
    lines = [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name != "time"} for line in lines]


def workers_of(run):
    lines = [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text().splitlines()]
    return [line["time"]["n_workers"] for line in lines]


def weights(result):
    return {name: array.tobytes() for name, array in read_archive(Path(result.model), "model")[1]["weights"].items()}


class Orders:
    """Asks for other workers behind each update, as `parcade scale` does."""

    def __init__(self, wanted):
        self.wanted, self.folder, self.asked, self.moved = list(wanted), None, [], []

    def __call__(self, event):
        if isinstance(event, events.Started):
            self.folder = event.folder.path
        if isinstance(event, events.Updated) and self.wanted:
            self.asked.append(new_order(self.wanted.pop(0)))
            ask(self.folder, self.asked[-1])
        if isinstance(event, events.Moved):
            self.moved.append((event.before, event.n_workers))


SLOW = ("memory", "overlap with memory")  # they load torch in every worker


@pytest.mark.parametrize("case", [pytest.param(name, marks=[pytest.mark.long] * (name in SLOW)) for name in CASES])
def test_games_that_move_keep_their_numbers(case, tmp_path):
    settings = {**COMMON, **LANTERN, **CASES[case]}
    settings["total_timesteps"] = 6 * settings["n_envs"] * settings["n_steps"]
    whole = train(**settings, n_workers=0, log_root=str(tmp_path / "whole"))
    orders = Orders(WORKERS)
    moved = train(**settings, n_workers=0, log_root=str(tmp_path / "moved"), on_event=orders)
    assert orders.moved == [(0, 2), (2, 1), (1, 3)]
    assert workers_of(moved.run_dir) == [0, 2, 1, 3, 3, 3]
    assert numbers(moved.run_dir) == numbers(whole.run_dir)
    assert weights(moved) == weights(whole)


def test_a_move_that_fails_leaves_everything_as_it_was(tmp_path, monkeypatch, caplog):
    settings = {**COMMON, **LANTERN}
    whole = train(**settings, n_workers=0, log_root=str(tmp_path / "whole"))

    def fails(self, *_):
        self.close()
        raise PoolError("no slot comes back")

    monkeypatch.setattr(ProcessPool, "load", fails)
    orders = Orders([2])
    with caplog.at_level(logging.WARNING, "parcade"):
        stayed = train(**settings, n_workers=0, log_root=str(tmp_path / "stayed"), on_event=orders)
    assert "the workers stay as they are: no slot comes back" in caplog.text
    told = read_answer(Path(stayed.run_dir), orders.asked[0])
    assert told is not None
    assert (told.done, told.n_workers, told.words) == (False, 0, "no slot comes back")
    assert numbers(stayed.run_dir) == numbers(whole.run_dir)
    assert weights(stayed) == weights(whole)

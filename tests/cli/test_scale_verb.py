"""`parcade scale` beside a training in another process, and what it refuses."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parcade.cli.main import main
from parcade.run.live import read_live, write_live

TRAIN = "--game lantern --n-envs 4 --n-steps 8 --n-workers 1 --eval-freq 0 --final-eval-episodes 0 --no-video --plain"
DEADLINE_S = 120


@pytest.fixture
def running(tmp_path):
    """Return the folder of a training that goes on until the test ends."""
    words = [sys.executable, "-m", "parcade.cli.main", "train", *TRAIN.split(), "--timesteps", "100M"]
    with open(tmp_path / "said", "wb") as said:
        training = subprocess.Popen([*words, "--log-root", str(tmp_path / "results")], stderr=said, stdout=said)
        try:
            yield _folder(tmp_path, training)
        finally:
            training.terminate()
            training.wait(DEADLINE_S)


def _folder(tmp_path, training):
    until_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < until_s and training.poll() is None:
        found = list((tmp_path / "results").glob("lantern/*/live.json"))
        if found:
            return found[0].parent
        time.sleep(0.1)
    raise AssertionError((tmp_path / "said").read_text())


def test_a_running_training_gets_other_workers(running, capfd):
    assert main(["scale", str(running), "--n-workers", "2", "--json"]) == 0
    line = json.loads(capfd.readouterr().out)
    assert (line["n_workers"], line["words"]) == (2, "1 -> 2 workers")
    live = read_live(running)
    assert live is not None
    assert live["shares"] == [[0, 2], [2, 4]]
    assert main(["scale", str(running), "--n-workers", "auto"]) == 0
    assert "follow the machine" in capfd.readouterr().out
    write_live(running, {**live, "host": "elsewhere"})
    assert main(["scale", str(running), "--n-workers", "1"]) == 2
    assert f"{running} is trained on elsewhere; scale it there" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ([], "scale needs --n-workers N"),
        (["--n-workers", "-1"], "--n-workers is '-1', wanted 0 to 65536, or auto"),
        (["--n-workers", "two"], "--n-workers is 'two', wanted 0 to 65536, or auto"),
        (["--n-workers", "2", "--num-threads", "2"], "the threads of a running training cannot change"),
        (["--n-workers", "2", "--wait", "0"], "--wait is 0, wanted seconds above 0"),
        (["--n-workers", "2"], "is not a run folder"),
    ],
)
def test_bad_input_is_one_sentence(flags, sentence, tmp_path, capfd):
    assert main(["scale", str(tmp_path), *flags]) == 2
    assert sentence in capfd.readouterr().err


def test_a_run_that_nobody_trains_is_refused(tmp_path, capfd):
    run = Path(tmp_path, "run")
    (run / "logs").mkdir(parents=True)
    (run / "config.json").write_text("{}")
    assert main(["scale", str(run), "--n-workers", "2"]) == 2
    assert f"{run} is not being trained; `parcade resume {run} --n-workers N`" in capfd.readouterr().err
    (run / "summary.json").write_text("{}")
    assert main(["scale", str(run), "--n-workers", "2"]) == 2
    assert "is finished" in capfd.readouterr().err

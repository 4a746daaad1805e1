"""Models and checkpoints whose checksums fit and whose contents do not: one sentence, and the run's files stay."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from parcade import evaluate, resume, train
from parcade.cli.main import main
from parcade.errors import ModelFileError, RunError, UserError
from parcade.run import archive, checkpoint
from parcade.run.archive import read_archive, write_archive
from parcade.run.checkpoint import list_checkpoints, load_newest
from parcade.run.rows import RowFile

SETTINGS = {
    **{"env_id": "CartPole-v1", "n_envs": 2, "n_steps": 32, "total_timesteps": 128, "save_freq": 64, "n_workers": 0},
    **{"final_eval_episodes": 0, "eval_freq": 0, "video": False, "log_root": "results"},
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Train once; every test gets a copy."""
    return Path(train(**{**SETTINGS, "log_root": str(tmp_path_factory.mktemp("trained"))}).run_dir)


@pytest.fixture
def run(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(trained, Path("results", *trained.parts[-2:])))


def changed(path, kind, change):
    """Write the archive anew, with checksums that fit, after ``change(meta, groups)``."""
    meta, groups = read_archive(path, kind)
    change(meta, groups)
    write_archive(path, kind, meta, groups)


def setting(*keys, to):
    def change(meta, groups):
        place = meta
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to

    return change


MODELS = {
    "leaves that are a list": setting("leaves", to=[1]),
    "leaves that are text": setting("leaves", to="x"),
    "a leaf of text": setting("leaves", "observation", to="x"),
    "a leaf of nothing": setting("leaves", "observation", to=[]),
    "a shape of text": setting("leaves", "observation", to=[["4"], "float32"]),
    "a negative shape": setting("leaves", "observation", to=[[-4], "float32"]),
    "a shape of fractions": setting("leaves", "observation", to=[[4.5], "float32"]),
    "an endless shape": setting("leaves", "observation", to=[[1e400], "float32"]),
    "a huge shape": setting("leaves", "observation", to=[[10**12], "float32"]),
    "objects as numbers": setting("leaves", "observation", to=[[4], "object"]),
    "an unknown dtype": setting("leaves", "observation", to=[[4], "evil"]),
    "a huge picture": setting("leaves", "observation", to=[[3, 100_000, 100_000], "uint8"]),
    "a net of text": setting("net", to="x"),
    "a net that is a list": setting("net", to=[1, 2]),
    "an unknown part of the net": setting("net", "evil", to=1),
    "layers of text": setting("net", "hidden", to=["a"]),
    "huge layers": setting("net", "hidden", to=[3_000_000, 3_000_000]),
    "endless layers": setting("net", "hidden", to=[10**30, 10**30]),
    "negative layers": setting("net", "hidden", to=[-1]),
    "huge memory": setting("net", "lstm", to=10**9),
    "memory of text": setting("net", "lstm", to="x"),
    "unknown activation": setting("net", "activation", to={"a": 1}),
    "actions that are text": setting("action_space", to="x"),
    "no actions": setting("action_space", "n", to=0),
    "huge actions": setting("action_space", "n", to=10**12),
    "endless actions": setting("action_space", "n", to=1e400),
    "an unknown space": setting("action_space", "type", to="Graph"),
    "a space without a type": setting("action_space", to={}),
    "a box of text": setting("action_space", to={"type": "Box", "low": ["a"], "high": ["b"], "dtype": "float32"}),
    "an upside down box": setting("action_space", to={"type": "Box", "low": [1], "high": [0], "dtype": "object"}),
    "an env that is a list": setting("env", to=[]),
    "weights under other names": lambda meta, groups: groups["weights"].update(evil=np.zeros(1)),
    "no weights": lambda meta, groups: groups["weights"].clear(),
    "weights of another kind": lambda meta, groups: groups["weights"].update(
        {name: np.zeros((1, *array.shape)) for name, array in groups["weights"].items()}
    ),
    "weights that are no numbers": lambda meta, groups: groups["weights"].update(
        {name: np.full_like(array, np.nan) for name, array in groups["weights"].items()}
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_with_wrong_contents_is_one_sentence(name, run, capsys):
    model = run / "models" / "final_model.zip"
    changed(model, "model", MODELS[name])
    assert main(["eval", "--model", str(model), "--episodes", "1"]) == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert len(error) < 1000
    assert "final_model.zip" in error or "action space" in error


def array(group, name, to):
    return lambda meta, groups: groups[group].update({name: to})


CHECKPOINTS = {
    "no update": lambda meta, groups: meta.pop("update"),
    "steps of text": setting("env_steps", to="x"),
    "negative steps": setting("env_steps", to=-1),
    "endless seconds": setting("seconds", to=1e400),
    "a best of text": setting("best", to="x"),
    "no recorder": setting("recorder", to=None),
    "a window of text": setting("recorder", "window", to=["x"]),
    "an endless number in the window": setting("recorder", "window", to=[[1.0, 10**400]]),
    "endless episodes": setting("recorder", "episodes", to=10**400),
    "a short window": setting("recorder", "window", to=[[1.0]]),
    "slots of others": setting("recorder", "slots", to=[[]]),
    "a negative end": setting("recorder", "metrics_end", to=-5),
    "a monitor outside": setting("recorder", "monitor_ends", to={"../x": 3}),
    "another algorithm": setting("algorithm", to="evil"),
    "no state of the algorithm": lambda meta, groups: groups["algorithm"].clear(),
    "a short generator": array("algorithm", "shuffle", np.zeros(3, np.uint8)),
    "a generator of floats": array("algorithm", "shuffle", np.zeros(9)),
    "no actions": lambda meta, groups: groups["pool"].clear(),
    "actions of halves": lambda meta, groups: groups["pool"].update(
        {"actions:obs": np.full_like(groups["pool"]["actions:obs"], np.inf, np.float64)}
    ),
    "no lengths": lambda meta, groups: groups["pool"].pop("length"),
    "lengths of others": array("pool", "length", np.array([3, 10**9])),
    "negative lengths": array("pool", "length", np.array([-3, -1])),
    "episodes of text": array("pool", "episode", np.zeros((2, 7))),
    "an optimiser of others": array("algorithm", "adam_exp_avg", np.zeros(3, np.float32)),
    "no step": lambda meta, groups: groups["algorithm"].pop("adam_step"),
    "weights of others": lambda meta, groups: groups["weights"].update(evil=np.zeros(1)),
}


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint_with_wrong_contents_is_one_sentence(name, run, capsys):
    rows = (run / "metrics.jsonl").read_bytes()
    newest = list_checkpoints(run / "checkpoints")[-1]
    changed(newest, "checkpoint", CHECKPOINTS[name])
    assert main(["resume", str(run), "--timesteps", "192", "--plain"]) in (1, 2)
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert len([line for line in error.splitlines() if line.startswith("parcade: ")]) == 1
    assert (run / "metrics.jsonl").read_bytes() == rows
    newest.unlink()
    assert resume(run, total_timesteps=192).env_steps == 192


def test_a_checkpoint_of_nan_is_passed_over(run, caplog):
    newest = list_checkpoints(run / "checkpoints")[-1]
    changed(newest, "checkpoint", lambda meta, groups: _spoil(groups["weights"]))
    assert load_newest(run / "checkpoints").meta["env_steps"] == 64
    assert "NaN or infinite values" in caplog.text
    assert "the one before it is used" in caplog.text


def _spoil(weights):
    name = next(iter(weights))
    weights[name] = np.full_like(weights[name], np.inf)


@pytest.mark.parametrize(("rate", "steps"), [(1e38, 64), (1e20, 640)])
def test_weights_that_blow_up_end_the_run_before_they_are_kept(rate, steps, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RunError, match=r"no numbers: .*learning_rate .* is too high"):
        train(**{**SETTINGS, "learning_rate": rate, "n_epochs": 1, "batch_size": 64, "total_timesteps": steps})
    for path in tmp_path.rglob("*.ckpt"):
        assert all(torch.isfinite(w).all() for w in checkpoint.load_checkpoint(path).weights.values())
    assert not list(tmp_path.rglob("*_model.zip"))


def test_a_model_of_nan_is_not_played(run):
    model = run / "models" / "final_model.zip"
    changed(model, "model", lambda meta, groups: _spoil(groups["weights"]))
    with pytest.raises(ModelFileError, match="NaN or infinite values"):
        evaluate(model, episodes=1)


@pytest.mark.parametrize("name", ["logs/lock", "metrics.jsonl", "monitor", "checkpoints/step_000000000128.ckpt"])
def test_a_run_leads_nowhere_else(name, run, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    part = run / name
    part.rename(tmp_path / "gone")
    part.symlink_to(precious)
    with pytest.raises(UserError, match="is a link to outside of the run's folder"):
        resume(run, total_timesteps=192)
    assert precious.read_text() == "keep me"
    part.unlink()
    os.mkfifo(part)
    with pytest.raises(UserError, match="pipe or a device"):
        resume(run, total_timesteps=192)


@pytest.mark.parametrize("row", ["[" * 100_000, '{"env_steps": "x", "losses": 3}', '{"env_steps": 1e400}', "3"])
def test_odd_rows_are_passed_over_in_the_report(row, run):
    rows = (run / "metrics.jsonl").read_text().splitlines()
    (run / "metrics.jsonl").write_text("\n".join([row, *rows]) + "\n")
    newest = list_checkpoints(run / "checkpoints")[-1]
    end = (run / "metrics.jsonl").stat().st_size
    changed(newest, "checkpoint", setting("recorder", "metrics_end", to=end))
    (run / "report.html").unlink()
    assert resume(run, total_timesteps=192).env_steps == 192
    assert (run / "report.html").exists()


@pytest.mark.parametrize("value", ["x", [1], None, 1e400])
@pytest.mark.parametrize("name", ["env_steps", "episodes", "interrupted"])
def test_a_summary_of_something_else_is_written_anew(name, value, run):
    summary = json.loads((run / "summary.json").read_text())
    (run / "summary.json").write_text(json.dumps({**summary, name: value}))
    assert resume(run).env_steps == 128


@pytest.fixture
def full_disk(monkeypatch):
    """Have the disk hold a given number of bytes in model and checkpoint files."""

    def limit(folder, most):
        write = archive.write_atomic

        def write_if_room(path, data):
            if (
                sum(file.stat().st_size for file in folder.rglob("*") if file.suffix in (".zip", ".ckpt")) + len(data)
                > most
            ):
                raise OSError(28, os.strerror(28))
            write(path, data)

        monkeypatch.setattr(archive, "write_atomic", write_if_room)

    return limit


def test_a_full_disk_costs_the_oldest_checkpoint_not_the_newest(run, full_disk, caplog):
    folder = run / "checkpoints"
    size = max(path.stat().st_size for path in list_checkpoints(folder))
    for model in (run / "models").iterdir():
        model.unlink()
    full_disk(run, int(2.1 * size))  # two checkpoints leave no room for the models at the end
    resume(run, total_timesteps=320)
    assert [path.name for path in list_checkpoints(folder)] == ["step_000000000320.ckpt"]
    assert {path.name for path in (run / "models").iterdir()} == {"best_model.zip", "final_model.zip"}
    assert "makes room for step_000000000256.ckpt" in caplog.text
    assert "step_000000000256.ckpt makes room for final_model.zip" in caplog.text


def test_a_full_disk_costs_the_oldest_checkpoint_not_the_rows(run, monkeypatch, caplog):
    folder, write = run / "checkpoints", RowFile._write

    def write_if_room(rows):
        if len(list_checkpoints(folder)) > 1:
            raise OSError(28, os.strerror(28))
        write(rows)

    monkeypatch.setattr(RowFile, "_write", write_if_room)
    resume(run, total_timesteps=320)
    assert list_checkpoints(folder)[-1].name == "step_000000000320.ckpt"
    assert "makes room for the rows of metrics" in caplog.text
    assert "no checkpoint after step" not in caplog.text


def test_the_last_checkpoint_is_never_given_up(run, full_disk, caplog):
    folder = run / "checkpoints"
    for path in list_checkpoints(folder)[:-1]:
        path.unlink()
    full_disk(run, 0)
    with pytest.raises(RunError):
        resume(run, total_timesteps=320)
    assert [path.name for path in list_checkpoints(folder)] == ["step_000000000128.ckpt"]
    assert "the one before it stays" in caplog.text


def test_a_best_model_that_found_no_room_is_written_later(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    write, refused = archive.write_atomic, []

    def full_at_first(path, data):
        if path.name == "best_model.zip" and len(refused) < 2:
            refused.append(read_bytes_meta(data))
            raise OSError(28, os.strerror(28))
        write(path, data)

    def read_bytes_meta(data):
        (tmp_path / "kept.zip").write_bytes(data)
        return read_archive(tmp_path / "kept.zip", "model")[0]["env_steps"]

    monkeypatch.setattr(archive, "write_atomic", full_at_first)
    settings = {**SETTINGS, "eval_freq": 64, "n_eval_episodes": 2, "save_freq": 64, "total_timesteps": 192}
    run = Path(train(**settings).run_dir)
    best = read_archive(run / "models" / "best_model.zip", "model")[0]["env_steps"]
    assert refused[0] == 64
    assert caplog.text.count("best_model.zip could not be written (No space left on device); it waits for room") == 1
    scores = {
        row["env_steps"]: row["eval"]["mean_reward"]
        for row in map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
        if "eval" in row
    }
    assert best == max(scores, key=lambda step: (scores[step], -step))
    assert load_newest(run / "checkpoints").meta["best"] == max(scores.values())

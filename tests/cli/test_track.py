"""`--track` as a user types it: W&B offline, MLflow on SQLite and on a real server, trackio; resumed and failing."""

import json
import os
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import pytest

from parcade.cli.main import main

SMALL = ["--env-id", "CartPole-v1", "--n-envs", "4", "--n-steps", "32", "--n-workers", "0", "--plain"]
ENDING = ["--final-eval-episodes", "2", "--eval-freq", "0"]
DEADLINE_S = 120.0
PATIENT_S = 800.0  # a tracker goes behind all others: on a busy machine MLflow's first store takes minutes


def parcade(*words, **environment):
    command = [sys.executable, "-m", "parcade.cli.main", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENT_S, env={**os.environ, **environment})


def train(root, *words, steps=512, **environment):
    answer = parcade(
        "train", *SMALL, *ENDING, "--timesteps", str(steps), "--log-root", str(root), *words, **environment
    )
    assert answer.returncode == 0, answer.stderr
    (run,) = [path.parent for path in root.glob("CartPole-v1/*/config.json")]
    return run, answer


def rows(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def wait_for(fact):
    until_s = time.monotonic() + DEADLINE_S
    while not (found := fact()):
        assert time.monotonic() < until_s
        time.sleep(0.1)
    return found


def test_an_unknown_tracker_is_one_sentence(capsys):
    assert main(["train", *SMALL, "--track", "wanbd"]) == 2
    said = capsys.readouterr().err
    assert "wanbd" in said
    assert "did you mean 'wandb'?" in said
    assert said.count("\n") == 1


@pytest.mark.skipif(find_spec("trackio") is not None, reason="trackio is installed here")
def test_a_tracker_without_its_package_is_one_sentence_and_leaves_no_folder(tmp_path, capsys):
    assert main(["train", *SMALL, "--track", "trackio", "--log-root", str(tmp_path)]) == 2
    assert "pip install trackio" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def wandb_records(folder):
    """Read W&B's own file: seven bytes, then blocks of 32 KiB with pieces of records (sum, length, kind, bytes)."""
    from wandb.proto.wandb_internal_pb2 import Record

    (file,) = folder.glob("run-*.wandb")
    data, place, parts = file.read_bytes(), 7, b""
    while place + 7 <= len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        length, kind = struct.unpack_from("<HB", data, place + 4)
        parts += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last piece
            yield Record.FromString(parts)
            parts = b""


def wandb_points(folder):
    for record in wandb_records(folder):
        if record.WhichOneof("record_type") == "history":
            yield {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}


@pytest.mark.long
@pytest.mark.timeout(2 * PATIENT_S)
def test_wandb_offline_has_everything_and_a_resumed_run_goes_on_with_its_entry(tmp_path):
    pytest.importorskip("wandb", reason="needs the package wandb (pip install wandb)")
    offline = {"WANDB_MODE": "offline", "WANDB_CONFIG_DIR": str(tmp_path / "config")}
    run, _ = train(tmp_path, "--track", "wandb", "--track-project", "tested", steps=512, **offline)
    (first,) = (tmp_path / "wandb").glob("offline-run-*")
    kept = json.loads((run / "trackers" / "wandb.json").read_text())
    assert first.name.endswith(kept["id"])
    all_points = list(wandb_points(first))
    told = [(row["env_steps"], row["losses"]["policy_loss"]) for row in rows(run) if "losses" in row]
    points = [point for point in all_points if "train/policy_loss" in point]
    assert [(point["env_steps"], point["train/policy_loss"]) for point in points] == told
    assert "rollout/ep_rew_mean_env_0" in points[-1]
    assert any("eval/mean_reward" in point for point in all_points)
    assert any("videos/final/path" in point for point in all_points)
    kinds = [record.WhichOneof("record_type") for record in wandb_records(first)]
    artifacts = [
        record.artifact.name for record in wandb_records(first) if record.WhichOneof("record_type") == "artifact"
    ]
    assert {name.split("-")[-1] for name in artifacts} == {"best_model", "final_model"}
    assert "exit" in kinds

    answer = parcade("resume", str(run), "--timesteps", "1024", "--plain", **offline)
    assert answer.returncode == 0, answer.stderr
    folders = sorted((tmp_path / "wandb").glob("offline-run-*"))
    assert len(folders) == 2
    assert all(folder.name.endswith(kept["id"]) for folder in folders)
    (second,) = set(folders) - {first}
    steps = [point["env_steps"] for point in wandb_points(second) if "train/policy_loss" in point]
    assert steps == [640, 768, 896, 1024]


def mlflow_client(uri):
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri=uri)


def check_mlflow(client, project, run, status="FINISHED"):
    (entry,) = client.search_runs([client.get_experiment_by_name(project).experiment_id])
    told = [row for row in rows(run) if "losses" in row]
    curve = client.get_metric_history(entry.info.run_id, "train/policy_loss")
    assert [(point.step, point.value) for point in curve] == [
        (row["env_steps"], row["losses"]["policy_loss"]) for row in told
    ]
    assert entry.data.params["n_steps"] == "32"
    assert entry.data.params["env_id"] == "CartPole-v1"
    assert entry.info.status == status
    return entry


@pytest.mark.long
@pytest.mark.timeout(2 * PATIENT_S)
def test_mlflow_on_a_local_store_and_on_a_server(tmp_path):
    pytest.importorskip("mlflow", reason="needs the package mlflow (pip install mlflow)")
    run, _ = train(tmp_path, "--track", "mlflow", "--track-project", "tested", MLFLOW_TRACKING_URI="")
    local = mlflow_client(f"sqlite:///{tmp_path / 'mlflow.db'}")
    entry = check_mlflow(local, "tested", run)
    files = {item.path for folder in ("models", "videos") for item in local.list_artifacts(entry.info.run_id, folder)}
    assert files == {"models/best_model.zip", "models/final_model.zip", "videos/final.mp4"}
    assert float(entry.data.tags["result.env_steps"]) == 512

    with a_server(tmp_path / "server") as uri:
        changes = ["--timesteps", "768", "--track", "mlflow", "--track-project", "moved", "--plain"]
        (run / "trackers" / "mlflow.json").unlink()  # an entry of its own on the server
        answer = parcade("resume", str(run), *changes, MLFLOW_TRACKING_URI=uri)
        assert answer.returncode == 0, answer.stderr
        assert "failed" not in answer.stderr
        server = mlflow_client(uri)
        (entry,) = server.search_runs([server.get_experiment_by_name("moved").experiment_id])
        steps = [point.step for point in server.get_metric_history(entry.info.run_id, "train/policy_loss")]
        assert steps == [640, 768]
        files = [item.path for item in server.list_artifacts(entry.info.run_id, "models")]
        assert "models/final_model.zip" in files


class a_server:  # noqa: N801
    """A real MLflow server on loopback."""

    def __init__(self, folder):
        folder.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.uri = f"http://127.0.0.1:{port}"
        command = [
            sys.executable,
            "-m",
            "mlflow",
            "server",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--workers",
            "1",
        ]
        store = ["--backend-store-uri", f"sqlite:///{folder / 'db'}", "--artifacts-destination", str(folder / "files")]
        log = (folder / "log").open("w")
        self._process = subprocess.Popen(
            [*command, *store], cwd=folder, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        log.close()

    def __enter__(self):
        wait_for(self._answers)
        return self.uri

    def _answers(self):
        assert self._process.poll() is None
        try:
            return urllib.request.urlopen(f"{self.uri}/health", timeout=5).status == 200
        except OSError:
            return False

    def __exit__(self, *_):
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.mark.long
@pytest.mark.timeout(2 * PATIENT_S)
def test_a_server_that_is_not_there_is_one_warning_and_changes_no_number(tmp_path):
    pytest.importorskip("mlflow", reason="needs the package mlflow (pip install mlflow)")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers here
        uri = f"http://127.0.0.1:{taken.getsockname()[1]}"
        environment = {"MLFLOW_TRACKING_URI": uri, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
        (tmp_path / "a").mkdir()
        run, answer = train(tmp_path / "a", "--track", "mlflow", "--no-video", **environment)
    said = [line for line in answer.stderr.splitlines() if line.startswith("parcade: ")]
    warnings = [line for line in said if "waiting for the tracker" not in line]
    assert len(warnings) == 1
    told = f"the server at {uri} refuses connections; start it, or correct its address"
    assert warnings[0] == f"parcade: the tracker mlflow failed, the training goes on without it: {told}"
    (tmp_path / "b").mkdir()
    alone, _ = train(tmp_path / "b", "--no-video")

    def numbers(one):
        return [{name: value for name, value in row.items() if name != "time"} for row in rows(one)]

    assert numbers(run) == numbers(alone)
    assert (run / "models" / "final_model.zip").read_bytes() == (alone / "models" / "final_model.zip").read_bytes()


@pytest.mark.long
@pytest.mark.timeout(2 * PATIENT_S)
def test_trackio_keeps_everything_in_its_local_store(tmp_path):
    """In an env of its own: trackio wants an older pillow than constraints.txt pins."""
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    made = subprocess.run([python, "-m", "pip", "install", "-q", "trackio==0.43.0"], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"trackio cannot be installed here: {made.stderr.splitlines()[-1:]}")
    run = tmp_path / "run"
    (run / "logs").mkdir(parents=True)
    (run / "best_model.zip").write_bytes(b"a model")
    about = {"name": "lantern 1", "project": "tested", "log_root": str(tmp_path), "settings": {"seed": 3}}
    for steps in ([100, 200], [200, 300]):
        messages = [{"open": about}, *({"row": [step, {"rollout/ep_rew_mean": step / 2}]} for step in steps)]
        messages += [{"model": str(run / "best_model.zip")}, {"close": ["finished", {"env_steps": steps[-1]}]}]
        assert serve_with(python, run, tmp_path / "store", messages)[-1] == {"closed": True}
    (database,) = (tmp_path / "store").rglob("tested*.db")
    with sqlite3.connect(database) as store:
        told = [row[0] for row in store.execute("select step from metrics order by step") if row[0] is not None]
    assert {100, 200, 300} <= set(told)
    assert told.count(200) == 1


def serve_with(python, run, store, messages):
    """Run the tracker's process with another Python, as the training would with its own."""
    source = Path(__file__).parents[2] / "src"
    where = "parcade.run.trackers.trackio_tracker:TrackioTracker"
    answer = subprocess.run(
        [python, "-m", "parcade.run.trackers.process", "trackio", where, str(run)],
        input="".join(json.dumps(message) + "\n" for message in messages),
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(source), "TRACKIO_DIR": str(store)},
    )
    answers = [json.loads(line) for line in answer.stdout.splitlines()]
    assert not [one for one in answers if "failed" in one], (answers, (run / "logs" / "track-trackio.log").read_text())
    return answers

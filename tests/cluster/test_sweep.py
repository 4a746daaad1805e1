"""A sweep whose trials are trained on a cluster: the numbers of one machine, and each job has nodes of its own."""

import json

import pytest

from parcade.cli.main import main

FILE = """
name: small
fixed: {env_id: CartPole-v1, total_timesteps: 256, n_envs: 4, n_steps: 16, batch_size: 32, shards: 2, n_workers: 0}
settings:
  learning_rate: [0.001, 0.01]
objective: {metric: rollout/ep_rew_mean, min_episodes: 1}
sampler: {kind: grid}
"""


def swept(folder, file, *more, capsys):
    assert main(["sweep", str(file), "--out", str(folder), "--plain", "--json", *more]) == 0
    capsys.readouterr()
    rows = {}
    for path in sorted(folder.glob("trial-*/metrics.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        rows[path.parent.name] = [{key: value for key, value in line.items() if key != "time"} for line in lines]
    return rows


@pytest.mark.long
def test_trials_on_nodes_have_the_numbers_of_one_machine(two_nodes, tmp_path, capsys):
    file = tmp_path / "small.yaml"
    file.write_text(FILE)
    alone = swept(tmp_path / "alone", file, capsys=capsys)
    spread = swept(tmp_path / "spread", file, "--cluster", two_nodes.address, "--jobs", "2", capsys=capsys)
    assert len(alone) == 2
    assert spread == alone
    log = (tmp_path / "spread" / "trial-001" / "config.json").read_text()
    assert json.loads(log)["cluster"] == two_nodes.address


def test_a_cluster_that_is_not_there_or_too_small_is_refused_before_anything_is_written(two_nodes, tmp_path, capsys):
    file = tmp_path / "small.yaml"
    file.write_text(FILE)
    words = ["sweep", str(file), "--out", str(tmp_path / "out"), "--plain"]
    assert main([*words, "--cluster", "127.0.0.1:1"]) == 2
    assert "no Ray cluster answers at 127.0.0.1:1" in capsys.readouterr().err
    assert main([*words, "--cluster", two_nodes.address, "--jobs", "4"]) == 2
    assert "2 learners with 1 core each do not fit on a cluster with 1 core on 1 node" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()

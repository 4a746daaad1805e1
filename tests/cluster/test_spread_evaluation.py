"""Evaluations on the nodes of a cluster: the episodes of one machine, wherever each is played."""

import json
import logging

import pytest
from ray_nodes import evaluators
from same_run import CASES, COMMON, PENDULUM, same_bits

from parcade import evaluate, train
from parcade.cli.main import main
from parcade.train import events


def seen(evaluation):
    return [(one.seed, one.total_reward, one.length, one.metrics) for one in evaluation.episodes]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    return train(**{**COMMON, **CASES["memory"], "total_timesteps": 64, "shards": 1}, log_root=str(folder)).model


def test_episodes_on_two_nodes_are_those_of_one_machine(two_nodes, model):
    alone = evaluate(model, episodes=7, seed=4, n_workers=0)
    at_work = []
    spread = evaluate(
        model, episodes=7, seed=4, cluster="auto", on_episode=lambda *_: at_work.append(len(evaluators()))
    )
    assert seen(spread) == seen(alone)
    assert len({one.seed for one in spread.episodes}) == 7
    assert max(at_work) == 2, "one node alone played"


@pytest.mark.long
def test_the_evaluations_of_a_training_are_played_by_its_nodes(two_nodes, tmp_path):
    settings = {**COMMON, **CASES["features"]}
    whole = train(**settings, n_workers=0, log_root=str(tmp_path / "whole"))
    at_work = []

    def listen(event):
        if isinstance(event, events.EpisodeEvaluated):
            at_work.append(len(evaluators()))

    spread = train(**settings, cluster="auto", on_event=listen, log_root=str(tmp_path / "spread"))
    same_bits(whole, spread)
    assert len(at_work) == 2 * 2 + 3
    assert max(at_work) == 2


@pytest.mark.long
def test_what_a_killed_node_had_left_is_played_by_another(start_nodes, caplog):
    nodes = start_nodes(2, 2)
    given = {"random": True, "env": PENDULUM["env_id"], "episodes": 400, "seed": 1}
    alone, ended = evaluate(**given, n_workers=0), []

    def strike(index, episode):
        ended.append(episode.seed)
        if len(ended) == 3:
            nodes.kill(nodes.nodes[1])

    with caplog.at_level(logging.WARNING):
        hit = evaluate(**given, n_workers=2, cluster=nodes.address, on_episode=strike)
    assert seen(hit) == seen(alone)
    assert len(ended) == len(set(ended)) == 400
    assert "the others play what is left of them" in caplog.text


@pytest.mark.long
def test_what_ended_before_a_stop_counts(two_nodes):
    ended = []
    given = {"random": True, "env": PENDULUM["env_id"], "episodes": 10_000, "cluster": "auto", "n_workers": 2}
    result = evaluate(**given, on_episode=lambda *_: ended.append(1), stopped=lambda: len(ended) > 3)
    assert 3 < len(result.episodes) == len(ended) < 10_000
    assert result.wanted == 10_000


@pytest.mark.long
def test_the_command_plays_on_a_cluster_and_refuses_one_that_is_not_there(two_nodes, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["eval", "--random", "--game", "lantern", "--max-steps", "40", "--episodes", "4", "--json"]
    told = []
    for more in (["--n-workers", "0"], ["--cluster", two_nodes.address]):
        assert main([*words, *more]) == 0
        told.append(json.loads(capsys.readouterr().out.splitlines()[-1]))
    assert {**told[0], "seconds": 0} == {**told[1], "seconds": 0}
    assert main([*words, "--cluster", "127.0.0.1:1"]) == 2
    assert "no Ray cluster answers at 127.0.0.1:1" in capsys.readouterr().err
    assert main([*words, "--cluster", "auto", "--visual"]) == 2
    assert "leave out --cluster" in capsys.readouterr().err

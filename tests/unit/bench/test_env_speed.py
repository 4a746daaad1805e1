"""A short but real run of `bench env`, and what its figures are made of."""

import json

import pytest

from parcade.bench.bare_consoles import BareProcesses, record_episodes
from parcade.bench.interleave import interleave, median_ratio
from parcade.bench.peers import LeanEnv
from parcade.cli.main import main
from parcade.env.spec import EnvSpec
from parcade.host.memory import private_mb

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    import contextlib
    import io

    plot = tmp_path_factory.mktemp("bench") / "env.png"
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        flags = ["--n-envs", "2,4", "--peer-envs", "2", "--seconds", "0.3", "--rounds", "1", "--plot", str(plot)]
        assert main(["bench", "env", *flags, "--json"]) == 0
    lines = out.getvalue().splitlines()
    assert len(lines) == 1, "with --json stdout holds the JSON line only"
    return json.loads(lines[0]), plot


def test_all_keys_are_there(result):
    data, plot = result
    assert data["bench"] == "env"
    assert data["game"] == "lantern"
    assert data["observation"] == "pixels"
    assert data["limit_steps_per_s"] > 0
    assert data["limit_undrawn_steps_per_s"] > 0
    assert 0 < data["limit_in_step_steps_per_s"] <= data["limit_steps_per_s"]
    assert data["machine"]
    assert [row["n_envs"] for row in data["pool"]] == [2, 4]
    for row in data["pool"]:
        assert row["steps_per_s"] > 0
        assert row["of_limit"] > 0
        assert row["n_workers"] >= 1
    assert data["pool"][0]["mb_per_env"] is None
    assert data["pool"][1]["mb_per_env"] < 10
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_peers_run_over_the_same_env(result):
    data, _ = result
    names = {row["name"] for row in data["peers"]}
    assert {"gymnasium-sync", "gymnasium-async"} <= names
    assert all(row["steps_per_s"] > 0 and row["n_envs"] == 2 for row in data["peers"])
    assert data["over_best_peer"] > 0
    assert data["over_best_multiprocess_peer"] >= data["over_best_peer"]


def test_the_limit_replays_real_episodes():
    spec = EnvSpec(game="lantern", observation="pixels", max_steps=40)
    episodes = record_episodes(spec, 3)
    assert [episode.seed for episode in episodes] == [0, 1, 2]
    assert all(0 < len(episode.actions) <= 40 for episode in episodes)
    assert record_episodes(spec, 3) == episodes
    bare = BareProcesses(spec, episodes, n_processes=1)
    try:
        assert bare.turn(0.1, draw=False) > 0
    finally:
        bare.close()
        bare.close()


def test_a_lean_env_keeps_the_contract():
    env = LeanEnv(EnvSpec(game="lantern", max_steps=3))
    try:
        first, info = env.reset(seed=5)
        assert info == {}
        assert env.observation_space.contains(first)
        outcomes = [env.step(0) for _ in range(3)]
        assert [step[3] for step in outcomes] == [False, False, True]
        assert outcomes[-1][4] == {"is_success": False}
        assert (env.reset(seed=5)[0] == first).all()
    finally:
        env.close()


def test_rates_are_compared_within_a_round():
    assert median_ratio([100.0, 10.0, 1.0], [50.0, 5.0, 0.5]) == 2.0


def test_everybody_warms_up_before_the_first_round():
    turns = []

    class Counter:
        def __init__(self, name):
            self.name = name

        def turn(self, seconds):
            turns.append((self.name, seconds))
            return 1.0

        def close(self):
            pass

    rates = interleave({"a": Counter("a"), "b": Counter("b")}, rounds=2, seconds=2.0, say=lambda text: None)
    assert turns == [("a", 0.5), ("b", 0.5), ("a", 2.0), ("b", 2.0), ("a", 2.0), ("b", 2.0)]
    assert rates == {"a": [1.0, 1.0], "b": [1.0, 1.0]}


def test_private_memory_of_a_process_that_is_gone_is_zero():
    assert private_mb(1 << 22) == 0.0


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["env", "--game", "lantren"], "did you mean 'lantern'"),
        (["env", "--n-envs", "0"], "not a list of numbers"),
        (["env", "--rounds", "0"], "must be above 0"),
        (["env", "--plot", "/nowhere/at/all.png"], "does not exist"),
        (["env", "--secons", "1"], "did you mean '--seconds'"),
        (["train", "--cases", "small"], "has no case 'small'; its cases are nature-cnn"),
        (["walk"], "invalid choice"),
    ],
)
def test_bad_input_is_one_sentence(flags, words, capsys):
    assert main(["bench", *flags]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert len(told.strip().splitlines()) == 1


def test_help_teaches(capsys):
    assert main(["bench"]) == 0
    told = capsys.readouterr().out
    for name in ("env", "train", "soak", "racing"):
        assert f"parcade bench {name}" in told

"""A recorded episode shows the same at every step, however one gets there."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from parcade.env import replay as module
from parcade.env.make import make
from parcade.env.replay import differences, open_replay
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, EpisodeFileError
from parcade.run.episodes import EpisodeOrigin, EpisodeRecord
from parcade.train.origin import origin_of

LENGTH = 40


def recorded(spec, actions, seed=3, **changes):
    facts = {"length": len(actions), "total_reward": 0.0, "terminated": False, "truncated": False}
    return EpisodeRecord(origin_of(spec, "bot"), **{"seed": seed, "actions": {"obs": actions}, **facts, **changes})


def actions_for(spec, length=LENGTH):
    env = make(spec)
    try:
        env.action_space.seed(1)
        return np.array([env.action_space.sample() for _ in range(length)])
    finally:
        env.close()


def moment(replay):
    """Everything that can be seen of one step."""
    rows = {leaf: row.tobytes() for leaf, row in replay.rows.items()}
    facts = replay.parts(), replay.fields(), replay.metrics(), replay.place(), replay.words(), replay.action()
    return replay.position, replay.total_reward, rows, replay.picture().tobytes(), *facts


@pytest.mark.parametrize(
    "spec",
    [
        EnvSpec(game="lantern"),
        EnvSpec(game="lantern", observation="both", frames_stack=3),
        EnvSpec(game="meadow", observation="pixels"),
        EnvSpec(env_id="CartPole-v1"),
    ],
)
def test_seeking_shows_what_stepping_shows(spec, monkeypatch):
    monkeypatch.setattr(module, "SNAPSHOT_EVERY", 4)
    monkeypatch.setattr(module, "MOST_SNAPSHOTS", 3)  # then 8, then 16 steps apart
    length = 12 if spec.env_id else LENGTH
    actions = np.arange(length) % 2 if spec.env_id else actions_for(spec, length)
    with open_replay(recorded(spec, actions), "e.zip") as replay:
        seen = [moment(replay)]
        while replay.step():
            seen.append(moment(replay))
        assert len(seen) == length + 1
        assert len({one[3] for one in seen}) > 3  # pictures
        order = [*range(length, -1, -7), *random.Random(2).sample(range(length + 1), 10)]
        for step in order:
            replay.seek(step)
            assert moment(replay) == seen[step]
        replay.seek(5)
        replay.step()
        assert moment(replay) == seen[6]
        assert len(replay._moments) <= 3
        replay.seek(length + 99)
        assert replay.is_over
        assert not replay.step()


def test_a_moment_of_a_game_is_a_start_state():
    spec = EnvSpec(game="lantern")
    with open_replay(recorded(spec, actions_for(spec, 9)), "e.zip") as replay:
        replay.seek(9)
        state, fields = replay.save_state(), replay.fields()
        replay.seek(0)
        assert replay.fields() != fields
        replay.env.console.load(state)
        assert replay.env.game.read(replay.env.console).x == fields["x"]
    with open_replay(recorded(EnvSpec(env_id="CartPole-v1"), np.zeros(3, int)), "e.zip") as replay:
        with pytest.raises(EnvError, match="only a game's moment"):
            replay.save_state()
        assert replay.fields() == {}


def test_actions_before_the_first_step_count_for_nothing():
    spec = EnvSpec(game="lantern")
    actions = actions_for(spec, 12)
    with open_replay(recorded(spec, actions), "e.zip") as whole:
        whole.seek(12)
        with open_replay(recorded(spec, actions[5:], prefix={"obs": actions[:5]}), "e.zip") as rest:
            assert (rest.position, rest.total_reward, rest.length) == (0, 0.0, 7)
            rest.seek(7)
            assert rest.rows["obs"].tobytes() == whole.rows["obs"].tobytes()


def test_every_difference_is_told():
    spec = EnvSpec(env_id="CartPole-v1")
    actions = np.zeros(30, int)  # it falls after about ten steps
    with open_replay(recorded(spec, actions), "e.zip", render=False) as replay:
        (told,) = differences(replay)
        assert told == f"it ended after {replay.position} of 30 steps"
        length = replay.position
    exact = {"total_reward": float(length), "terminated": True}
    with open_replay(recorded(spec, actions[:length], **exact), "e.zip", render=False) as replay:
        assert differences(replay) == []
    with open_replay(recorded(spec, actions[:length], metrics={"level": 1.0}), "e.zip", render=False) as replay:
        assert differences(replay) == [
            "terminated is True, recorded was False",
            f"return is {float(length)}, recorded was 0.0",
            "level is missing",
        ]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"rom_sha1": "0" * 40}, r"was played with a ROM of SHA-1 0000.*, but lantern\.gb has"),
        ({"env": {"game": "lantern", "colour": "red"}}, "unknown keys: colour"),
        ({"env": {"game": "lantern", "rom": "/dev/null"}}, "names the ROM '/dev/null', which is not the one"),
        ({"env": {"game": "os:System"}}, "names the module 'os', which is not imported unasked"),
        ({"env": {"game": None, "env_id": None}}, "was made by a function in Python"),
    ],
)
def test_what_cannot_be_made_here_is_one_sentence(change, told):
    origin = origin_of(EnvSpec(game="lantern"), "bot").to_dict()
    record = EpisodeRecord(EpisodeOrigin(**{**origin, **change}), 1, {}, 0, 0.0, False, False)
    with pytest.raises(Exception, match=told) as error:
        open_replay(record, "e.zip")
    assert "e.zip" in str(error.value)
    assert "\n" not in str(error.value)


def test_actions_of_another_env_are_refused():
    spec = EnvSpec(env_id="CartPole-v1")
    for actions in (np.array([0, 2]), np.zeros((3, 2)), np.array([-1])):
        with pytest.raises(EpisodeFileError, match=r"e\.zip holds"):
            open_replay(recorded(spec, actions), "e.zip")
    with pytest.raises(EpisodeFileError, match="was played in CartPole-v1, not in Acrobot-v1"):
        open_replay(recorded(spec, np.zeros(1, int)), "e.zip", {"env_id": "Acrobot-v1"})


def test_another_save_state_is_refused(tmp_path):
    env = make(EnvSpec(game="lantern"))
    env.reset(seed=1)
    (tmp_path / "a.state").write_bytes(env.console.save())
    env.step(1)
    (tmp_path / "b.state").write_bytes(env.console.save())
    env.close()
    record = recorded(EnvSpec(game="lantern", state=str(tmp_path / "a.state")), np.zeros(2, int))
    open_replay(record, "e.zip", render=False).close()
    with pytest.raises(EpisodeFileError, match="was played from another save state"):
        open_replay(record, "e.zip", {"state": str(tmp_path / "b.state")})


def test_an_env_without_a_picture_is_named():
    with open_replay(recorded(EnvSpec(env_id="CartPole-v1"), np.zeros(1, int)), "e.zip", render=False) as replay:
        replay.env = SimpleNamespace(render=lambda: None, close=replay.env.close)
        with pytest.raises(EnvError, match="CartPole-v1 draws no picture"):
            replay.picture()

"""What settings accept, and what they write down."""

import os
import re

import pytest

from parcade.config.file import read_config
from parcade.config.settings import make_settings
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.host.cores import usable_cores


def test_the_number_of_games_is_written_down():
    assert make_settings({}).model_dump()["n_envs"] == 16 * os.cpu_count()
    assert make_settings({"n_envs": 3}).n_envs == 3


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("crop", "0,0,12,0", (0, 0, 12, 0)),
        ("resize", "84, 96", (84, 96)),
        ("resize", "84", (84, 84)),
        ("resize", 84, (84, 84)),
        ("action_scale", "1,1,0.2", (1.0, 1.0, 0.2)),
        ("imports", "my_package", ("my_package",)),
        ("hidden", 64, (64,)),
        ("hidden", [], ()),
    ],
)
def test_lists_may_be_written_with_commas(name, text, value):
    assert getattr(make_settings({"env_id": "CarRacing-v3", name: text}), name) == value


@pytest.mark.parametrize("name", ["frame_skip", "frames_stack", "max_steps"])
def test_an_env_is_never_made_of_nothing(name):
    with pytest.raises(SettingsError, match=f"{name} is 0, wanted 1 or more"):
        EnvSpec(game="lantern", **{name: 0})


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/../../b", " "])
def test_a_run_stays_below_log_root(name):
    with pytest.raises(SettingsError, match="wanted the name of a folder below log_root"):
        make_settings({"run_name": name})
    assert make_settings({"run_name": "mine/first..try"}).name == "mine/first..try"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("lstm: true\nn_envs: yes\n", "n_envs is True, wanted a number; lstm is True, wanted a number"),
        ("seed: 1\ngamma: 0.9\nseed: 2\n", "seed is given twice"),
        ("", "is empty"),
        ('game: lantern\nseed: !!int ""\n', "line 2 holds '', which is no int"),
        ("n_envs: 4\ngamma: !!float nine\n", "line 2 holds 'nine', which is no float"),
        ("game: lantern\nenv_id: CartPole-v1\ngamma: 3\n", "cannot both be given; gamma is 3"),
        ("hidden: [64, 0]\n", "hidden is [64, 0], wanted 64 layers or fewer, each of 1 unit or more"),
    ],
)
def test_what_a_config_file_cannot_mean_is_told(tmp_path, text, sentence):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        make_settings(read_config(path))


def test_a_config_file_may_merge_in_a_mapping_of_its_own(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("game_options: &first\n  floors: 1\nreward_weights:\n  <<: *first\n  key: 3\n")
    assert read_config(path)["reward_weights"] == {"floors": 1, "key": 3}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the kernel does not bind processes to processors")
def test_processors_taken_away_count_for_the_usual_number_of_games():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert make_settings({}).n_envs == 16
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize(("n_envs", "n_steps"), [(2, 128), (12, 85), (16, 64), (64, 64)])
def test_with_fewer_games_than_the_title_recommends_a_rollout_is_longer(n_envs, n_steps):
    title = {"n_envs": 16, "n_steps": 64}
    assert make_settings({"n_envs": n_envs}, title).n_steps == n_steps
    assert make_settings({"n_envs": n_envs, "n_steps": 7}, title).n_steps == 7


def test_with_many_steps_and_no_number_of_games_an_update_keeps_its_size():
    """The file of REQUIREMENTS D2 names n_steps and no n_envs."""
    cores = usable_cores()
    assert make_settings({"env_id": "CartPole-v1", "n_steps": 2048}).n_envs == cores
    assert make_settings({"env_id": "CartPole-v1", "n_steps": 256}).n_envs == 8 * cores
    assert make_settings({"env_id": "CartPole-v1", "n_steps": 16}).n_envs == 16 * cores
    assert make_settings({"env_id": "CartPole-v1", "n_steps": "2k", "total_timesteps": "2k"}).n_envs == 1
    assert make_settings({"env_id": "CartPole-v1", "n_steps": 2048, "n_envs": 64}).n_envs == 64


def test_the_same_holds_for_a_title():
    title = {"n_envs": 16, "n_steps": 64}
    assert make_settings({"n_steps": 256}, title).n_envs == max(4, min(16, usable_cores()))
    assert make_settings({"n_steps": 32}, title).n_envs == 16

"""`parcade replay`: a run's kept episodes listed, checked, filmed and shown."""

import json

import pytest

from parcade import replay, train
from parcade.cli.main import main
from parcade.run.episodes import read_episodes, write_episodes


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    settings = {"n_envs": 4, "n_steps": 16, "n_workers": 0, "total_timesteps": 256, "max_steps": 20, "eval_freq": 0}
    root = str(tmp_path_factory.mktemp("results"))
    return train(game="lantern", **settings, final_eval_episodes=0, video=False, log_root=root).run_dir


def answer(capsys, *words):
    code = main(["replay", *words])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_run_lists_what_it_keeps(run, capsys):
    code, out, _ = answer(capsys, run, "--list")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split() == ["episode", "seed", "return", "length", "end", "env", "steps", "kept", "as"]
    assert len(lines) == 1 + 12
    assert "20" in lines[1]
    assert "truncated" in lines[1]
    code, out, _ = answer(capsys, run, "--list", "--json")
    assert [one["number"] for one in json.loads(out)["episodes"]] == list(range(1, 13))


def test_episodes_replay_exactly(run, capsys):
    code, out, err = answer(capsys, run, "--episode", "last", "--check", "--json")
    told = json.loads(out.splitlines()[-1])
    assert code == 0
    assert told["differences"] == {}
    assert told["episode"]["number"] == 12
    assert "replays exactly" in err
    code, _, err = answer(capsys, run, "--episode", "all", "--check")
    assert code == 0
    assert "all 12 replay" in err


def test_the_summary_says_what_is_known(run, capsys):
    code, out, _ = answer(capsys, run)
    assert code == 0
    for word in ("best 1", "seed", "return", "20 steps, truncated", "rooms_seen", "episode_0000000"):
        assert word in out


def test_an_episode_becomes_a_video(run, capsys, tmp_path):
    import imageio_ffmpeg

    file = tmp_path / "e.mp4"
    assert answer(capsys, run, "--episode", "3", "--video", str(file))[0] == 0
    frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(file))
    assert frames == 21
    assert seconds == pytest.approx(2.1, abs=0.2)  # ten steps a second, as the game


def test_a_changed_record_is_told(run, capsys, tmp_path):
    import shutil
    from pathlib import Path

    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    path = Path(copy) / "episodes" / "episode_000000005.zip"
    (record,) = read_episodes(path)
    record.actions["obs"][:10] = (record.actions["obs"][:10] + 1) % 4
    write_episodes(path, [record])
    code, out, err = answer(capsys, str(copy), "--episode", "5", "--check", "--json")
    assert code == 1
    assert "does not replay" in err
    assert json.loads(out.splitlines()[-1])["differences"]["5"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--episode", "bost"], "keeps no episode 'bost' (did you mean 'best'?)"),
        (["--episode", "99"], "episode 99 is not among the 12 episodes"),
        (["--episode", "9" * 40], "keeps no episode"),
        (["--episode", "first"], "keeps no episode that is the first"),
        (["--episode", "all"], "--episode all is for --check"),
        (["--speed", "2"], "add --visual"),
        (["--video", "/no/such/folder/e.mp4"], "the folder of /no/such/folder/e.mp4 does not exist"),
        (["--game", "meadow", "--check"], "was played in lantern, not in meadow"),
    ],
)
def test_bad_input_is_one_sentence(run, capsys, words, told):
    code, _, err = answer(capsys, run, *words)
    assert code == 2
    assert told in err
    assert err.count("\n") == 1


def test_no_run_and_no_episodes(tmp_path, capsys, run):
    assert answer(capsys, str(tmp_path))[0] == 2
    code, _, err = answer(capsys, "--log-root", str(tmp_path))
    assert code == 2
    assert "there is no run in" in err
    short = train(
        game="lantern", n_envs=2, n_steps=8, n_workers=0, total_timesteps=16, eval_freq=0, final_eval_episodes=0,
        video=False, log_root=str(tmp_path), episodes_mb=0,
    )  # fmt: skip
    code, _, err = answer(capsys, short.run_dir)
    assert code == 2
    assert "holds no kept episodes" in err


def test_python_steps_through_an_episode(run):
    with replay(run, "worst") as episode:
        while episode.step():
            pass
        assert episode.position == 20
        assert episode.total_reward == episode.episode.total_reward
        assert episode.picture().shape == (144, 160, 3)


def test_an_episode_is_shown_in_a_window(run, capsys, monkeypatch):
    pytest.importorskip("pygame", reason="the window needs the extra `view`")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    code, out, err = answer(capsys, run, "--visual", "--speed", "0", "--check")
    assert code == 0
    assert "replays exactly" in err
    assert "best 1" in out

"""A video has the speed of the game, whatever the frame skip; a training that films says so."""

from types import SimpleNamespace

import imageio_ffmpeg
import pytest

from parcade import EnvSpec, evaluate, train
from parcade.train.events import Filming
from parcade.train.plain_progress import PlainProgress


@pytest.mark.parametrize(
    ("spec", "steps_per_s"),
    [
        (EnvSpec(game="lantern", frame_skip=8, max_steps=15), 7.5),
        (EnvSpec(env_id="CartPole-v1", frame_skip=4), 12.5),
        (EnvSpec(env_id="CartPole-v1"), 50),
    ],
)
def test_a_picture_lasts_as_long_as_a_step(tmp_path, spec, steps_per_s):
    video = tmp_path / "film.mp4"
    evaluate(random=True, spec=spec, episodes=1, n_workers=0, video=video)
    frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(video))
    assert frames / seconds == pytest.approx(steps_per_s, rel=0.1)


def test_a_training_says_that_it_films_and_how_far_it_is(tmp_path, monkeypatch):
    lines, told, now_s = [], [], [100.0]
    monkeypatch.setattr("parcade.train.plain_progress.time", SimpleNamespace(monotonic=lambda: now_s[0]))
    listen = PlainProgress(lines.append)

    def hear(event):
        now_s[0] += 1.0
        told.append(event)
        listen(event)

    few = {"n_envs": 2, "n_steps": 16, "batch_size": 16, "total_timesteps": 32, "max_steps": 8, "n_workers": 0}
    train(game="lantern", **few, eval_freq=0, final_eval_episodes=1, log_root=str(tmp_path), on_event=hear)
    assert [event.steps for event in told if isinstance(event, Filming)] == list(range(24))  # of three episodes
    assert "filming the trained agent (--no-video leaves it out)" in lines
    assert [line for line in lines if line.startswith("filmed")] == [f"filmed {n} steps" for n in (5, 10, 15, 20)]

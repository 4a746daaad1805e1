"""A video has the speed of the game, whatever the frame skip."""

import imageio_ffmpeg
import pytest

from parcade import EnvSpec, evaluate


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

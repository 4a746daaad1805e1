"""Videos are real files: written by ffmpeg, read back by ffmpeg."""

from __future__ import annotations

import resource

import imageio_ffmpeg
import numpy as np
import pytest

from parcade.errors import RunError, UserError
from parcade.run.video import VideoFile

SIZE = (24, 32)


def frame_of(colour, size=SIZE):
    return np.full((*size, 3), colour, dtype=np.uint8)


def read_back(path):
    reader = imageio_ffmpeg.read_frames(str(path))
    facts = next(reader)
    width, height = facts["size"]
    return facts, [np.frombuffer(data, np.uint8).reshape(height, width, 3) for data in reader]


def test_every_frame_comes_back_in_its_size_rate_and_colour(tmp_path):
    colours = [(220, 30, 40), (20, 200, 60), (30, 50, 210), (250, 250, 250), (10, 10, 10)]
    with VideoFile(tmp_path / "play.mp4", SIZE, fps=15) as video:
        for colour in colours:
            video.append(frame_of(colour))
    facts, frames = read_back(tmp_path / "play.mp4")
    assert facts["codec"] == "h264"
    assert facts["pix_fmt"].startswith("yuv420p")
    assert facts["fps"] == 15
    assert [frame.shape for frame in frames] == [(72, 96, 3)] * len(colours)
    for frame, colour in zip(frames, colours, strict=True):
        assert np.abs(frame.mean(axis=(0, 1)) - colour).max() < 6


def test_a_gif_is_a_gif(tmp_path):
    colours = [(220, 30, 40), (20, 200, 60), (20, 200, 60), (250, 250, 250)]
    with VideoFile(tmp_path / "play.gif", SIZE, fps=10) as video:
        for colour in colours:
            video.append(frame_of(colour))
    assert (tmp_path / "play.gif").read_bytes()[:6] == b"GIF89a"
    facts, frames = read_back(tmp_path / "play.gif")
    assert facts["fps"] == 10
    for frame, colour in zip(frames, colours, strict=True):
        assert np.abs(frame.mean(axis=(0, 1)) - colour).max() < 6


@pytest.mark.parametrize("name", ["play.avi", "play", "play.mp4.txt"])
def test_another_kind_of_file_is_refused(tmp_path, name):
    with pytest.raises(UserError, match=r"is no name for a video; it ends in .mp4 or .gif"):
        VideoFile(tmp_path / name, SIZE, fps=10)


def test_pixels_become_squares(tmp_path):
    left_white = frame_of((0, 0, 0))
    left_white[:, :16] = 255
    with VideoFile(tmp_path / "play.mp4", SIZE, fps=10, scale=8) as video:
        video.append(left_white)
    _, (frame,) = read_back(tmp_path / "play.mp4")
    assert frame[:, :126].min() > 230
    assert frame[:, 130:].max() < 25


def test_odd_sizes_are_rounded_up_to_even(tmp_path):
    with VideoFile(tmp_path / "odd.mp4", (21, 31), fps=10, scale=1) as video:
        video.append(frame_of((90, 90, 90), (21, 31)))
    facts, frames = read_back(tmp_path / "odd.mp4")
    assert facts["size"] == (32, 22)
    assert len(frames) == 1


def test_a_view_that_is_not_contiguous_is_taken(tmp_path):
    with VideoFile(tmp_path / "play.mp4", SIZE, fps=10) as video:
        video.append(np.zeros((48, 64, 3), np.uint8)[::2, ::2])
    assert len(read_back(tmp_path / "play.mp4")[1]) == 1


@pytest.mark.parametrize(
    "frame",
    [np.zeros((32, 24, 3), np.uint8), np.zeros((24, 32), np.uint8), np.zeros((24, 32, 3), np.float32)],
    ids=["turned", "grey", "float"],
)
def test_a_wrong_frame_is_told(tmp_path, frame):
    with (
        VideoFile(tmp_path / "play.mp4", SIZE, fps=10) as video,
        pytest.raises(ValueError, match=r"wanted \(24, 32, 3\) of uint8") as caught,
    ):
        video.append(frame)
    assert str(frame.shape) in str(caught.value)
    assert str(frame.dtype) in str(caught.value)


def test_sizes_below_one_are_refused(tmp_path):
    with pytest.raises(ValueError, match="at least 1"):
        VideoFile(tmp_path / "play.mp4", SIZE, fps=0)


def test_closing_twice_is_fine_and_a_closed_file_takes_no_frame(tmp_path):
    video = VideoFile(tmp_path / "play.mp4", SIZE, fps=10)
    video.append(frame_of((1, 2, 3)))
    video.close()
    video.close()
    with pytest.raises(ValueError, match="closed"):
        video.append(frame_of((1, 2, 3)))
    assert len(read_back(tmp_path / "play.mp4")[1]) == 1


def test_without_a_frame_there_is_no_file(tmp_path):
    with VideoFile(tmp_path / "play.mp4", SIZE, fps=10):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_target_appears_only_when_whole(tmp_path):
    target = tmp_path / "play.mp4"
    target.write_bytes(b"the one before")
    with VideoFile(target, SIZE, fps=10) as video:
        video.append(frame_of((1, 2, 3)))
        assert target.read_bytes() == b"the one before"
    assert len(read_back(target)[1]) == 1
    assert list(tmp_path.iterdir()) == [target]


def play_and_fail(path):
    with VideoFile(path, SIZE, fps=10) as video:
        video.append(frame_of((1, 2, 3)))
        raise KeyError("the game failed")


def test_a_failure_inside_leaves_what_was_there(tmp_path):
    target = tmp_path / "play.mp4"
    target.write_bytes(b"the one before")
    with pytest.raises(KeyError):
        play_and_fail(target)
    assert target.read_bytes() == b"the one before"
    assert list(tmp_path.iterdir()) == [target]


def write_noise(path, n_frames):
    rng = np.random.default_rng(0)
    with VideoFile(path, SIZE, fps=10) as video:
        for _ in range(n_frames):
            video.append(rng.integers(0, 256, (*SIZE, 3), dtype=np.uint8))


@pytest.mark.parametrize("n_frames", [20, 2000], ids=["noticed at close", "noticed while writing"])
def test_a_disk_without_room_is_one_sentence(tmp_path, n_frames):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(RunError, match="disk full") as caught:
            write_noise(tmp_path / "play.mp4", n_frames)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_ffmpeg_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(tmp_path / "no-ffmpeg"))
    with (
        VideoFile(tmp_path / "play.mp4", SIZE, fps=10) as video,
        pytest.raises(RunError, match="ffmpeg cannot be started") as caught,
    ):
        video.append(frame_of((1, 2, 3)))
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_one_sentence(tmp_path):
    with (
        VideoFile(tmp_path / "nowhere" / "play.mp4", SIZE, fps=10) as video,
        pytest.raises(RunError, match="nowhere does not exist"),
    ):
        video.append(frame_of((1, 2, 3)))

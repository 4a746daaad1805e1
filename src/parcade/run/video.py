"""A video of play that browsers can show: H.264 in MP4, or a GIF; every pixel of the console a clean square."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import cv2
import imageio_ffmpeg
import numpy as np
from numpy.typing import NDArray

from parcade.errors import RunError, UserError

CLOSE_DEADLINE_S = 60.0


class _Kind(NamedTuple):
    """How ffmpeg writes one kind of file."""

    codec: str
    pixels: str
    output: tuple[str, ...]


_KINDS = {
    ".mp4": _Kind(
        "libx264",
        "yuv420p",
        (
            *("-f", "mp4", "-movflags", "+faststart", "-crf", "18", "-tune", "animation"),
            # Without a stated matrix each player guesses its own, and the colours of the same file differ between them.
            *("-vf", "scale=out_color_matrix=bt709:out_range=tv"),
            *("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"),
        ),
    ),
    # Each picture has its own palette: one for all would need all of them in memory.
    ".gif": _Kind(
        "gif",
        "pal8",
        ("-f", "gif", "-vf", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1:dither=none"),
    ),
}


def check_video_name(path: Path) -> None:
    """Raise UserError for a file that no video is written to: another kind, or no file at all."""
    if path.exists() and not path.is_file():  # as root, a device would be replaced by the film
        raise UserError(f"{path} is a folder, a pipe or a device; give the video the name of a file")
    if path.suffix.lower() not in _KINDS:
        raise UserError(f"{path} is no name for a video; it ends in {' or '.join(_KINDS)}")


class VideoFile:
    """Writes RGB frames to ``path``, which appears whole when the file is closed and not before.

    ``size`` is (height, width) of the incoming frames. ffmpeg starts with the first frame: without a frame there is
    no file. When the ``with`` block is left by an exception, what stood at ``path`` before still stands there.
    """

    def __init__(self, path: Path, size: tuple[int, int], fps: float, scale: int = 3) -> None:
        if min(*size, scale) < 1 or fps <= 0:
            raise ValueError(f"{path}: size {size} and scale {scale} must be at least 1, fps {fps} more than 0")
        check_video_name(path)
        self.path = path
        self.size = size
        self.fps = fps
        self.scale = scale
        self.n_frames = 0
        self._part = path.with_name(f".{path.name}-{os.getpid()}.part")
        self._writer: Generator[None, NDArray[np.uint8] | None, None] | None = None
        self._closed = False

    @property
    def video_size(self) -> tuple[int, int]:
        """(height, width) of the video: scaled, and rounded up to even numbers as yuv420p wants them."""
        height, width = (side * self.scale for side in self.size)
        return height + height % 2, width + width % 2

    def append(self, frame: NDArray[np.uint8]) -> None:
        """Add one frame (height, width, 3), uint8, RGB."""
        wanted = (*self.size, 3)
        if frame.shape != wanted or frame.dtype != np.uint8:
            raise ValueError(f"{self.path}: got a frame {frame.shape} of {frame.dtype}, wanted {wanted} of uint8")
        if self._closed:
            raise ValueError(f"{self.path}: is closed and takes no more frames")
        if self._writer is None:
            self._writer = self._start()
        try:
            self._writer.send(self._enlarged(frame))
        except OSError as error:
            self.discard()
            raise RunError(f"{self.path}: ffmpeg stopped after {self.n_frames} frames; is the disk full?") from error
        self.n_frames += 1

    def close(self) -> None:
        """Finish the video and put it in place; closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        if self._writer is None:
            return
        self._writer.close()
        self._writer = None
        try:
            # imageio_ffmpeg hides the exit code of ffmpeg, so success is proven by the frames in the file.
            written = _count_frames(self._part)
            if written != self.n_frames:
                raise RunError(
                    f"{self.path}: ffmpeg wrote {written} of {self.n_frames} frames, so the video is dropped; "
                    "is the disk full?"
                )
            _put_in_place(self._part, self.path)
        except OSError as error:
            raise RunError(f"{self.path}: the video cannot be written: {error.strerror or error}") from error
        finally:
            self._part.unlink(missing_ok=True)

    def __enter__(self) -> VideoFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def _start(self) -> Generator[None, NDArray[np.uint8] | None, None]:
        if not self.path.parent.is_dir():
            raise RunError(f"{self.path}: the folder {self.path.parent} does not exist, so no video can be written")
        height, width = self.video_size
        kind = _KINDS[self.path.suffix.lower()]
        writer: Generator[None, NDArray[np.uint8] | None, None] = imageio_ffmpeg.write_frames(
            str(self._part),
            (width, height),
            fps=self.fps,
            quality=None,
            codec=kind.codec,
            pix_fmt_out=kind.pixels,
            macro_block_size=1,
            ffmpeg_log_level="quiet",
            ffmpeg_timeout=CLOSE_DEADLINE_S,
            output_params=list(kind.output),
        )
        try:
            writer.send(None)
        except (OSError, RuntimeError) as error:
            raise RunError(
                f"{self.path}: ffmpeg cannot be started, so no video can be written; reinstall imageio-ffmpeg or let "
                "IMAGEIO_FFMPEG_EXE name an ffmpeg"
            ) from error
        return writer

    def _enlarged(self, frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
        height, width = (side * self.scale for side in self.size)
        enlarged = cv2.resize(frame, (width, height), interpolation=cv2.INTER_NEAREST)
        even_height, even_width = self.video_size
        padded = cv2.copyMakeBorder(enlarged, 0, even_height - height, 0, even_width - width, cv2.BORDER_REPLICATE)
        return np.ascontiguousarray(padded, dtype=np.uint8)

    def discard(self) -> None:
        """Give the video up; what stood at its path before still stands there."""
        self._closed = True
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._part.unlink(missing_ok=True)


def _count_frames(path: Path) -> int:
    """Return how many frames can be read back; a file that is missing, empty or cut short has 0."""
    try:
        return int(imageio_ffmpeg.count_frames_and_secs(str(path))[0])
    except (OSError, RuntimeError):
        return 0


def _put_in_place(part: Path, path: Path) -> None:
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    os.replace(part, path)

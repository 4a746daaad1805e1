"""One env's latest pictures in a small file: the env writes, a window in another process reads."""

from __future__ import annotations

import json
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

SUFFIX = ".picture"
TRAINING = "training.json"  # in the folder: the training whose games the window shows, and how
CLOSED = "closed"  # a file of this name in the folder says that nobody looks any more
_START = struct.Struct("<QI")  # how often the file was written, odd while it is; length of the JSON that follows

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Shown:
    """What an env showed at one moment."""

    label: str  # who shows it, such as "game 3"
    step: int  # of the episode
    total_reward: float  # so far
    raw: npt.NDArray[np.uint8] | None  # (height, width, 3), the env's own picture
    why_not: str  # why there is none
    seen: dict[str, Array]  # leaf name -> what the policy sees
    channels: int  # of one frame of a stack of pictures
    action: str = ""  # of the last step, in words


class PictureWriter:
    """Writes the file of one slot; the env of a restarted worker goes on in the file of the dead one."""

    def __init__(self, folder: str, label: str, slot: int) -> None:
        self._fd = os.open(Path(folder, f"{label}-{slot:05d}{SUFFIX}"), os.O_RDWR | os.O_CREAT, 0o600)
        self._label = f"{label} {slot}"  # as in the logs
        written = os.pread(self._fd, _START.size, 0)
        count = _START.unpack(written)[0] if len(written) == _START.size else 0
        self._count = count + count % 2  # odd: the one before died while it wrote

    def write(self, shown: Shown) -> None:
        """Replace what the file holds."""
        parts: list[tuple[str, Array]] = [(f"seen:{name}", np.ascontiguousarray(a)) for name, a in shown.seen.items()]
        if shown.raw is not None:
            parts.append(("raw", np.ascontiguousarray(shown.raw)))
        head = {
            "label": self._label,
            "step": shown.step,
            "total_reward": shown.total_reward,
            "why_not": shown.why_not,
            "channels": shown.channels,
            "action": shown.action,
            "parts": [(name, array.shape, array.dtype.str) for name, array in parts],
        }
        text = json.dumps(head).encode()
        # A reader that sees an odd count, or another one after reading than before, reads again.
        os.pwrite(self._fd, _START.pack(self._count + 1, len(text)), 0)
        os.pwrite(self._fd, b"".join([text, *(array.tobytes() for _, array in parts)]), _START.size)
        self._count += 2
        os.pwrite(self._fd, _START.pack(self._count, len(text)), 0)

    def close(self) -> None:
        """Let the file go; twice is fine."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class PictureReader:
    """Reads one file; only what is new is read."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self._count = 0

    def read(self) -> Shown | None:
        """Return what is new, or None; a picture that is being written just now is left for the next time."""
        fd = self._file.fileno()
        start = os.pread(fd, _START.size, 0)
        if len(start) < _START.size:
            return None
        count, length = _START.unpack(start)
        if count == self._count or count % 2:
            return None
        body = os.pread(fd, os.fstat(fd).st_size, _START.size)
        if _START.unpack(os.pread(fd, _START.size, 0))[0] != count:
            return None
        self._count = count
        return _unpacked(json.loads(body[:length]), body, length)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _unpacked(head: dict[str, Any], body: bytes, offset: int) -> Shown:
    arrays = {}
    for name, shape, dtype in head["parts"]:
        size = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(body, dtype, size, offset).reshape(shape)
        offset += arrays[name].nbytes
    seen = {name.partition(":")[2]: array for name, array in arrays.items() if name != "raw"}
    return Shown(
        head["label"],
        head["step"],
        head["total_reward"],
        arrays.get("raw"),
        head["why_not"],
        seen,
        head["channels"],
        head["action"],
    )

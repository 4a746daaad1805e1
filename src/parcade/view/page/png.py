"""Pictures as PNG files."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

_START = b"\x89PNG\r\n\x1a\n"


def png(picture: npt.NDArray[np.uint8]) -> bytes:
    """Return a picture (height, width, 3), or with a fourth channel that says how solid it is, as a PNG file."""
    height, width, channels = picture.shape
    kind = {3: 2, 4: 6}[channels]
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # each line begins with 0: no filter
    lines[:, 1:] = picture.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return _START + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

"""Save-state files as bytes: mGBA's raw, with extra blocks behind, or inside a PNG picture; gzipped ones."""

from __future__ import annotations

import struct
import zlib

from parcade.errors import SaveStateError

SAVE_MEMORY = 2  # mGBA's tag of the block that holds the cartridge's save memory
_HEADER = struct.Struct("<IiQ")  # tag, size, offset from the start of the file; a zero tag ends the list
_CARTRIDGE_SAVES = (512, 8 << 10, 32 << 10, 64 << 10, 128 << 10)  # EEPROM, SRAM and flash
_LARGEST_TAG = 0xFFFF  # mGBA's own are 1 to 4 and 0x101 to 0x104
_PYBOY = b"PGB"  # how ours of PyBoy begin; see parcade.console.pyboy_state
_PNG = b"\x89PNG\r\n\x1a\n"


def save_memory_block(raw_size: int, save_memory: bytes) -> bytes:
    """Return what follows a raw state in a file mGBA itself reads: the save memory, which a raw state leaves out."""
    offset = raw_size + 2 * _HEADER.size
    return _HEADER.pack(SAVE_MEMORY, len(save_memory), offset) + bytes(_HEADER.size) + save_memory


_ADVANCE_SIZE = 0x61000  # of a raw state of a Game Boy Advance


def unpack(save_state: bytes, raw_size: int) -> tuple[memoryview, bytes]:
    """Return the raw state and the save memory (empty if there is none) of a state file; SaveStateError if damaged."""
    if save_state.startswith(_PYBOY):
        what = "use it with a Game Boy ROM" if raw_size == _ADVANCE_SIZE else "use console pyboy"
        raise SaveStateError(f"the save state is a state of PyBoy; mGBA cannot read it: {what}")
    if save_state.startswith(_PNG):
        raw, blocks = _unpack_png(save_state, raw_size)
    else:
        raw, blocks = save_state, _blocks(save_state, raw_size)
    if len(raw) < raw_size:
        what = f"the save state has {len(raw)} bytes, an mGBA state of this console has {raw_size}"
        if len(raw) in _CARTRIDGE_SAVES:
            what += "; this looks like a cartridge's save file: load it in mGBA and save a state there"
        raise SaveStateError(what)
    return memoryview(raw)[:raw_size], blocks.get(SAVE_MEMORY, b"")


def gunzip(packed: bytes, largest: int) -> bytes:
    """Return the content of a gzipped state; SaveStateError if it is damaged or more than ``largest`` bytes."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        raw = unpacker.decompress(packed, largest)
    except zlib.error as error:
        raise SaveStateError(f"the gzipped save state is damaged: {error}") from None
    if not unpacker.eof:
        what = f"holds more than {largest:,} bytes" if len(raw) >= largest else "is damaged: it ends too soon"
        raise SaveStateError(f"the gzipped save state {what}")
    return raw


def _blocks(save_state: bytes, at: int) -> dict[int, bytes]:
    blocks: dict[int, bytes] = {}
    while at < len(save_state):
        if at + _HEADER.size > len(save_state):
            raise SaveStateError(f"the save state ({len(save_state)} bytes) ends inside a block header at {at}")
        tag, size, offset = _HEADER.unpack_from(save_state, at)
        if tag == 0:
            break
        if tag > _LARGEST_TAG:
            raise SaveStateError(f"this is no mGBA save state ({len(save_state)} bytes, no list of blocks at {at})")
        if size < 0 or offset + size > len(save_state):
            raise SaveStateError(
                f"the save state ({len(save_state)} bytes) is cut short: block {tag} wants {size} bytes at {offset}"
            )
        blocks[tag] = save_state[offset : offset + size]
        at += _HEADER.size
    return blocks


def _unpack_png(picture: bytes, raw_size: int) -> tuple[bytes, dict[int, bytes]]:
    raw, blocks = b"", {}
    for kind, data in _chunks(picture):
        if kind == b"gbAs":
            raw = _inflate(data, raw_size)
        elif kind == b"gbAx" and len(data) >= 8:
            tag, size = struct.unpack_from("<II", data)
            if tag == SAVE_MEMORY:  # the others are of no use here: a hostile file's stay packed
                blocks[tag] = _inflate(data[8:], min(size, _CARTRIDGE_SAVES[-1] + 16))  # 16: mGBA's clock behind it
    if not raw:
        raise SaveStateError("the PNG file holds no mGBA state (no gbAs chunk); it is only a picture")
    return raw, blocks


def _chunks(picture: bytes) -> list[tuple[bytes, bytes]]:
    chunks, at = [], len(_PNG)
    while at < len(picture):
        data = picture[at + 8 : at + 8 + int.from_bytes(picture[at : at + 4], "big")]
        kind, end = picture[at + 4 : at + 8], at + 8 + len(data)
        if zlib.crc32(kind + data).to_bytes(4, "big") != picture[end : end + 4]:
            raise SaveStateError(f"the PNG save state is damaged: wrong checksum of the chunk at byte {at}")
        chunks.append((kind, data))
        at = end + 4
    return chunks


def _inflate(data: bytes, size: int) -> bytes:
    """Decompress at most ``size`` bytes: a hostile file must not fill the memory."""
    try:
        return zlib.decompressobj().decompress(data, max(size, 1))
    except zlib.error as error:
        raise SaveStateError(f"the PNG save state is damaged: {error}") from None

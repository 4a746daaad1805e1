"""ROM files: found, read and known by their hash, never by their name."""

from __future__ import annotations

import errno
import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from parcade.errors import RomError
from parcade.host.input_file import read_input

SHORTEST_GBA = 4096  # bytes; cartridges have a million or more, small programs of hobbyists about this many
LARGEST_ROM = 64 * 1024 * 1024  # no cartridge of the supported consoles is larger


@dataclass(frozen=True, slots=True)
class Rom:
    """The bytes of a cartridge and where they came from."""

    data: bytes
    name: str

    @property
    def sha1(self) -> str:
        """SHA-1 in hex, the hash cartridge databases use."""
        return hashlib.sha1(self.data, usedforsecurity=False).hexdigest()

    @property
    def system(self) -> str:
        """``gb`` or ``gba``, told from the header, or an empty string."""
        if len(self.data) > 0xC0 and self.data[0xB2] == 0x96:
            return "gba"
        if len(self.data) >= 0x150 and _gb_header_sum(self.data) == self.data[0x14D]:
            return "gb"
        return ""


def _gb_header_sum(data: bytes) -> int:
    total = 0
    for byte in data[0x134:0x14D]:
        total = (total - byte - 1) & 0xFF
    return total


def read_rom(path: str | Path) -> Rom:
    """Return the ROM at ``path``; raise RomError in one sentence if it cannot be one."""
    path = Path(path)
    try:
        data = read_input(path, LARGEST_ROM)
    except FileNotFoundError:
        raise RomError(f"there is no ROM at {path}; give the path of your own cartridge dump with --rom") from None
    except IsADirectoryError:
        raise RomError(f"{path} is a folder, not a ROM file") from None
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise RomError(f"{path} is larger than any cartridge: {error.strerror}; give a ROM file") from None
        raise RomError(f"the ROM {path} cannot be read: {error.strerror}") from None
    if data[:4] == b"PK\x03\x04":
        raise RomError(f"{path} is a zip archive; unpack it and give the ROM file inside")
    if len(data) < 0x150:
        raise RomError(f"{path} has {len(data)} bytes, too few for a cartridge; give a ROM file")
    return Rom(data, path.name)


def is_rom(path: str | Path) -> bool:
    """Whether the file at ``path`` has the header of a cartridge."""
    try:
        return bool(read_rom(path).system)
    except RomError:
        return False


def what_is_cut(rom: Rom) -> str | None:
    """Return in words that a ROM is too short to be whole, as far as its length tells; None where it is not."""
    if rom.system != "gba" or len(rom.data) >= SHORTEST_GBA:
        return None
    return (
        f"{rom.name} has {len(rom.data):,} bytes, too few to be a whole Game Boy Advance cartridge; "
        "if the game does not start, make the dump anew"
    )


def builtin_rom(file_name: str) -> Rom:
    """Return one of the package's own ROMs."""
    return Rom(resources.files("parcade.roms").joinpath(file_name).read_bytes(), file_name)


def expect_sha1(rom: Rom, known: dict[str, str], title: str) -> str:
    """Return the name of the revision ``rom`` is; raise RomError naming what came and what was wanted."""
    revision = known.get(rom.sha1)
    if revision is None:
        wanted = " or ".join(f"{sha1} ({name})" for sha1, name in known.items())
        raise RomError(f"{title}: {rom.name} has SHA-1 {rom.sha1}, expected {wanted}; others have other addresses")
    return revision

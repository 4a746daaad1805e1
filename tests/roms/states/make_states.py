"""Let an older PyBoy write the states of this folder: `python make_states.py OUT ROM…` with that PyBoy installed.

A state is written as OUT/<pyboy version>-<rom>.state.gz; beside it, as .after.gz, work RAM and picture of what that
PyBoy itself made of it: 60 frames with the right button held, then 60 with none.
"""

import gzip
import io
import sys
from importlib import metadata
from pathlib import Path

from pyboy import PyBoy

try:
    from pyboy.utils import WindowEvent
except ImportError:
    from pyboy import WindowEvent


def open_rom(path: Path) -> PyBoy:
    try:
        return PyBoy(str(path), window="null", sound_emulated=False)
    except TypeError:  # PyBoy 1
        return PyBoy(str(path), window_type="headless", sound=False)


def tick(console: PyBoy, frames: int) -> None:
    for _ in range(frames):
        console.tick()


def memory(console: PyBoy) -> bytes:
    if hasattr(console, "memory"):
        return bytes(console.memory[0xC000:0xE000])
    return bytes(console.get_memory_value(address) for address in range(0xC000, 0xE000))


def picture(console: PyBoy) -> bytes:
    screen = console.screen if hasattr(console, "screen") else None
    pixels = screen.ndarray if screen else console.botsupport_manager().screen().screen_ndarray()
    return pixels[..., :3].tobytes()


def main(out: Path, roms: list[Path]) -> None:
    for rom in roms:
        console = open_rom(rom)
        console.set_emulation_speed(0)
        tick(console, 300)
        console.send_input(WindowEvent.PRESS_BUTTON_START)
        tick(console, 4)
        console.send_input(WindowEvent.RELEASE_BUTTON_START)
        tick(console, 100)
        file = io.BytesIO()
        console.save_state(file)
        console.send_input(WindowEvent.PRESS_ARROW_RIGHT)
        tick(console, 60)
        console.send_input(WindowEvent.RELEASE_ARROW_RIGHT)
        tick(console, 60)
        name = f"{metadata.version('pyboy')}-{rom.stem}"
        (out / f"{name}.state.gz").write_bytes(gzip.compress(file.getvalue(), mtime=0))
        (out / f"{name}.after.gz").write_bytes(gzip.compress(memory(console) + picture(console), mtime=0))
        console.stop(save=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(rom) for rom in sys.argv[2:]])

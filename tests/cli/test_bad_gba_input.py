"""Bad ROMs, save states and consoles of Game Boy Advance games: one clear sentence, exit code 2, nothing left."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

from parcade.cli.main import main
from parcade.console.gba import GameBoyAdvance
from parcade.console.rom import builtin_rom, read_rom
from parcade.game.meadow import Meadow

ROMS = Path(__file__).parents[1] / "roms"
MEADOW = ["train", "--game", "meadow", "--n-envs", "1", "--n-steps", "8", "--timesteps", "8"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_bad_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rom = builtin_rom("meadow.gba").data
    Path("wrong.gba").write_bytes(rom)
    Path("cut.gba").write_bytes(rom[:64])
    Path("trimmed.gba").write_bytes(rom[: len(rom) // 2])
    Path("noise.gba").write_bytes(bytes(range(256)) * 64)
    with zipfile.ZipFile("rom.zip", "w") as archive:
        archive.writestr("emerald.gba", rom)
    Path("a-folder").mkdir()
    Path("empty").mkdir()
    Path("empty.state").write_bytes(b"")
    state = _state_of("meadow.gba")
    Path("cut.state").write_bytes(state[:5000])
    Path("emerald.sav").write_bytes(bytes(128 << 10))
    Path("large.noise").write_bytes(bytes(range(1, 256)) * 4000)
    Path("noise.state").write_bytes(b"\xa5" * len(state))
    Path("picture.png").write_bytes(_png())
    Path("cut.png").write_bytes(_png()[:40])
    console = GameBoyAdvance(read_rom(ROMS / "flash.gba"))
    Path("foreign.state").write_bytes(console.save())
    console.close()
    folder = Path("states")
    folder.mkdir()
    (folder / "a.state").write_bytes(state)
    (folder / "b.state").write_bytes(state[:100])


def _state_of(rom: str) -> bytes:
    console = GameBoyAdvance(builtin_rom(rom))
    Meadow().start(console, 0)
    state = console.save()
    console.close()
    return state


def _png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">2I5B", 1, 1, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


EMERALD = ["train", "--game", "pokemon-emerald", "--rom"]
CASES = {
    "no ROM given": (["train", "--game", "pokemon-emerald"], r"needs your own ROM; give it with --rom"),
    "no such ROM": ([*EMERALD, "nowhere.gba"], r"no ROM at nowhere\.gba"),
    "another ROM": ([*EMERALD, "wrong.gba"], r"wrong\.gba has SHA-1 [0-9a-f]{40}, expected f3ae0881\w+ \(USA, Europe"),
    "a zip": ([*EMERALD, "rom.zip"], r"rom\.zip is a zip archive.*unpack"),
    "a truncated ROM": ([*EMERALD, "trimmed.gba"], r"trimmed\.gba has SHA-1"),
    "a few bytes": ([*EMERALD, "cut.gba"], r"cut\.gba has 64 bytes, too few"),
    "a folder for a ROM": ([*EMERALD, "a-folder"], r"a-folder is a folder"),
    "noise for Meadow": ([*MEADOW, "--rom", "noise.gba"], r"meadow is a gba game, but noise\.gba is no gba ROM"),
    "a zip for Meadow": ([*MEADOW, "--rom", "rom.zip"], r"rom\.zip is a zip archive"),
    "no such state": ([*MEADOW, "--state", "nowhere.state"], r"no save state at nowhere\.state"),
    "an empty state": ([*MEADOW, "--state", "empty.state"], r"empty\.state is empty"),
    "an empty folder": ([*MEADOW, "--state", "empty"], r"folder empty holds no save state"),
    "a cut state": ([*MEADOW, "--state", "cut.state"], r"cut\.state: the save state has 5000 bytes"),
    "noise for a state": ([*MEADOW, "--state", "noise.state"], r"noise\.state: mGBA refuses"),
    "a cartridge's save": ([*MEADOW, "--state", "emerald.sav"], r"131072 bytes.* looks like a cartridge's save file"),
    "a ROM for a state": ([*MEADOW, "--state", "large.noise"], r"large\.noise: this is no mGBA save state"),
    "a misspelt option": (
        [*MEADOW, "--game-options", "gaol=town"],
        r"no option 'gaol' \(did you mean 'goal'\?\); it has goal",
    ),
    "a plain picture": ([*MEADOW, "--state", "picture.png"], r"picture\.png: .*only a picture"),
    "a damaged picture": ([*MEADOW, "--state", "cut.png"], r"cut\.png: the PNG save state is damaged"),
    "a state of another game": ([*MEADOW, "--state", "foreign.state"], r"foreign\.state: .*of another game"),
    "one bad state of a folder": ([*MEADOW, "--state", "states", "--n-envs", "2"], r"b\.state: the save state has 100"),
    "a console that cannot": ([*MEADOW, "--console", "pyboy"], r"pyboy does not play gba games; use mgba or libretro"),
    "an unknown console": ([*MEADOW, "--console", "mgbaa"], r"console 'mgbaa' is not known .did you mean 'mgba'"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_exit_2_and_no_folder(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, text = CASES[case]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    told = [line for line in error.splitlines() if line.startswith("parcade: ")]
    assert len(told) == 1, error
    assert re.search(text, told[0]), told[0]
    assert not Path("results").exists() or not any(Path("results").iterdir())


def test_without_mgba_the_two_ways_to_get_it_are_named(tmp_path: Path) -> None:
    """In a child, with the bindings hidden as where there is no wheel."""
    code = (
        "import sys; sys.modules['mgba'] = None; sys.modules['stable_retro'] = None\n"
        "from parcade.cli.main import main\n"
        f"sys.exit(main({[*MEADOW, '--console', 'mgba', '--n-workers', '0']!r}))"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert child.returncode == 2, child.stderr
    assert "Traceback" not in child.stderr
    assert re.search(r"mGBA cannot be loaded.*libmgba0\.10.*pip install parcade\[retro\]", child.stderr)


def test_a_missing_stable_retro_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stable_retro", None)
    assert main(["train", "--game", "airstriker", "--n-envs", "1"]) == 2
    assert "pip install parcade[retro]" in capsys.readouterr().err

"""`parcade inspect` as people use it: typed into a terminal (tmux), piped, and from a script."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from parcade.cli.inspect_session import Session
from parcade.cli.main import main
from parcade.console import gba
from parcade.console.gameboy import GameBoy
from parcade.console.rom import read_rom
from parcade.console.search import ram_regions
from parcade.game.map_file import load_map
from parcade.game.memory_map import Field

ROMS = Path(__file__).parents[1] / "roms"
PARCADE = Path(sys.executable).with_name("parcade")
DEADLINE_S = 60.0
HEARTS, COINS = "C10D", "C112"  # roms/lantern/README.md: offsets 13 and 18 of the block at 0xC100


class Terminal:
    """A real terminal of its own tmux server, with a program inside that prompts with `> `."""

    def __init__(self, *command: str) -> None:
        self.socket = f"parcade-test-{os.getpid()}"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "50", *command)
        self._prompts = 1
        self._wait_for_prompt()

    def tmux(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["tmux", "-L", self.socket, *words], capture_output=True, text=True, timeout=DEADLINE_S)

    def ask(self, line: str) -> list[str]:
        """Type a line and return what is answered before the next prompt."""
        self.tmux("send-keys", "-l", line)
        self.tmux("send-keys", "Enter")
        return self.answer()

    def answer(self) -> list[str]:
        """Return what stands between the last line typed and the next prompt, once it is there."""
        self._prompts += 1
        lines = self._wait_for_prompt()
        start = max(at for at, text in enumerate(lines[:-1]) if text.startswith(">"))
        return lines[start + 1 : -1]

    def _wait_for_prompt(self) -> list[str]:
        return self.wait_for(
            lambda lines: lines[-1] == ">" and sum(text.startswith(">") for text in lines) == self._prompts
        )

    def wait_for(self, fact: Callable[[list[str]], bool]) -> list[str]:
        """Return what the terminal shows as soon as ``fact`` holds of it."""
        give_up_s = time.monotonic() + DEADLINE_S
        lines: list[str] = []
        while time.monotonic() < give_up_s:
            lines = self.tmux("capture-pane", "-p", "-S", "-").stdout.rstrip().splitlines()
            if lines and fact(lines):
                return lines
            time.sleep(0.05)
        raise AssertionError(f"it did not come within {DEADLINE_S} s; the terminal shows: {lines}")

    def ended(self) -> bool:
        """Whether the program leaves within the deadline, and the terminal with it."""
        give_up_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < give_up_s:
            if self.tmux("has-session").returncode:
                return True
            time.sleep(0.05)
        return False

    def close(self) -> None:
        self.tmux("kill-server")


@pytest.fixture(scope="module")
def terminal() -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    terminal = Terminal(str(PARCADE), "inspect", "--game", "lantern")
    yield terminal
    terminal.close()


def test_lanterns_hearts_are_found_by_search(terminal: Terminal) -> None:
    terminal.ask("restart 21")
    assert terminal.ask("new") == ["8319 candidates, u8, in work RAM C000-DFFF, high RAM FF80-FFFE"]
    terminal.ask("hold down 1")
    terminal.ask("hold right 80")  # into the next room, which has foes; they stand still at first
    terminal.ask("unchanged")
    terminal.ask("play 30")  # the random policy is hurt there
    terminal.ask("decreased")
    terminal.ask("play 20")
    assert "candidate" in terminal.ask("decreased")[0]
    terminal.ask("restart 21")
    terminal.ask("increased")
    found = terminal.ask("list")
    assert len(found) <= 3
    assert f"{HEARTS}  u8  6  (was 6)" in found
    assert terminal.ask(f"watch {HEARTS} hearts") == ["hearts=6"]


def test_lanterns_coins_are_found_by_search(terminal: Terminal) -> None:
    terminal.ask("restart 21")
    terminal.ask("new u16")
    terminal.ask("hold down 1")
    terminal.ask("hold right 30")
    terminal.ask("unchanged")
    terminal.ask("hold right 40")  # a chest with four coins stands on the way
    terminal.ask("equals 4")
    terminal.ask("restart 38")
    terminal.ask("equals 0")
    terminal.ask("hold down 1")
    terminal.ask("hold left 120")  # another dungeon: one coin
    terminal.ask("increased")
    found = terminal.ask("list")
    assert len(found) <= 3
    assert f"{COINS}  u16  1  (was 1)" in found


def test_the_hex_view_lives_in_the_terminal(terminal: Terminal) -> None:
    assert len(terminal.ask("hex C108 2")) == 2
    answer = terminal.ask("wait 30")
    assert answer[0].startswith("30 frames")
    assert [line[:4] for line in answer[1:]] == ["C108", "C118"]  # what was drawn on the way is gone
    assert "*" in answer[1][6:10]  # the frame counter
    assert terminal.ask("hex off") == ["no hex view"]


def test_an_error_is_one_sentence_and_the_session_goes_on(terminal: Terminal, tmp_path: Path) -> None:
    assert terminal.ask("incresed") == [
        "error: 'incresed' is not a command (did you mean 'increased'?); `help` lists them"
    ]
    for field in (f"{HEARTS} hearts", f"{COINS} coins u16"):
        assert terminal.ask(f"watch {field}")[0].startswith(f"{field.split()[1]}=")
    assert terminal.ask(f"save {tmp_path}/map.yaml") == [f"{tmp_path}/map.yaml: 2 fields"]
    assert load_map(tmp_path / "map.yaml").fields == {"hearts": Field(0xC10D), "coins": Field(0xC112, "u16")}


def test_ctrl_c_ends_a_long_move_and_not_the_session(terminal: Terminal) -> None:
    terminal.ask("hex C108 1")
    terminal.tmux("send-keys", "wait 1000000", "Enter")
    terminal.wait_for(lambda lines: "*" in lines[-1])  # the view shows the game move
    terminal.tmux("send-keys", "C-c")
    assert terminal.answer()[-1] == "stopped"
    assert terminal.ask("hex off") == ["no hex view"]


def test_quit_leaves(terminal: Terminal) -> None:
    terminal.tmux("send-keys", "quit", "Enter")
    assert terminal.ended()


def piped(monkeypatch: pytest.MonkeyPatch, text: str, *flags: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    return main(["inspect", *flags])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("hold rigt 3", "no button 'rigt' (did you mean 'right'?)"),
        ("hold right", "hold is written `hold BUTTONS FRAMES`, got 'hold right'"),
        ("hold right 0", "a move takes 1 to 1000000, got 0"),
        ("equals x", "'x' is no whole number"),
        ("list", "no search is open"),
        ("undo", "no narrowing to undo"),
        ("new u9", "a search is for u8, i8, u16, i16, u16be, bcd, bcdx2, bcdx3, got 'u9'"),
        ("watch zz", "'zz' is no address"),
        ("watch C000 2x", "'2x' is not a valid field name"),
        ("watch C000 x u7", "'u7' is no kind of value"),
        ("watch FFFF x u16", "lie outside the console's memory"),
        ("unwatch x", "'x' is not watched"),
        ("hex FFF0 2", "lie outside the console's memory"),
        ("hex C000 99", "1 to 64 lines"),
        ("poke 0 1", "lie outside the console's memory"),
        ("poke C000 256", "256 does not fit in u8"),
        ("poke C000 -129 i8", "-129 does not fit in i8"),
        ("poke C000 100 bcd", "100 does not fit in bcd"),
        ("poke C000 1 u9", "poke writes u8, i8"),
        ("hold right -3", "'-3' is no whole number from 0 on"),
        ("mark", "no search is open"),
        ("state load nothing.state", "nothing.state: No such file"),
        ("state keep x", "state is written"),
        ("save map.yaml", "nothing is watched yet"),
        ("shot picture.gif", "does not end in .png"),
        ("save 'map", "cannot be read: no closing quotation"),
    ],
)
def test_each_fault_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], token: Session, line: str, said: str
) -> None:
    monkeypatch.setattr("parcade.cli.inspect._open", lambda given, live: token)
    assert piped(monkeypatch, f"{line}\nwait 1\n", "--rom", "token.gb") == 1
    _, answer, *rest = capsys.readouterr().out.splitlines()
    assert answer.startswith("error: ")
    assert said in answer
    assert rest[-2:] == ["> wait 1", "1 frames"]


@pytest.mark.parametrize(("kind", "number", "bounds"), [("i8", 200, "-128 to 127"), ("bcdx2", -1, "0 to 9999")])
def test_a_number_that_no_value_of_the_kind_is_narrows_nothing(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    token: Session,
    kind: str,
    number: int,
    bounds: str,
) -> None:
    monkeypatch.setattr("parcade.cli.inspect._open", lambda given, live: token)
    assert piped(monkeypatch, f"new {kind}\nequals {number}\nunchanged\n", "--rom", "token.gb") == 1
    _, begun, _, said, _, left, *_ = capsys.readouterr().out.splitlines()
    assert said == f"error: {kind} holds {bounds}, so nothing equals {number}"
    assert begun.split()[0] == left.split()[0] != "0"


@pytest.fixture
def token() -> Iterator[Session]:
    rom = read_rom(ROMS / "token.gb")
    console = GameBoy(rom)
    console.advance(0, 120)
    yield Session(console, ram_regions(rom), [1, 2, 4, 8], 6, lambda seed: None, np.random.default_rng([0]))
    console.close()


def test_a_script_finds_what_stands_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ("# x of the hero", "", "wait 120", "new", "hold right 20", "increased 20", "list", "shot room.png")
    Path("find.txt").write_text("\n".join(lines))
    assert main(["inspect", "--rom", str(ROMS / "token.gb"), "--script", "find.txt", "--json"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert "C0A0  u8  92  (was 92)" in out
    assert json.loads(out[-1]) == {"commands": 8, "errors": 0, "frames": 140}
    picture = cv2.imread("room.png")
    assert picture.shape == (144, 160, 3)
    assert len(np.unique(picture)) > 2


def test_a_state_brings_back_memory(tmp_path: Path, token: Session) -> None:
    token.answer("watch C0A0 x")
    token.answer(f"state save '{tmp_path}/a state'")
    assert token.answer("hold right 8") == "8 frames x=80"
    token.answer(f"state load '{tmp_path}/a state'")
    assert token.answer("hold right 1") == "1 frames x=73"


def test_what_is_watched_can_be_any_kind(token: Session) -> None:
    assert token.answer("watch") == "nothing is watched"
    assert token.answer("watch C0AE magic bytesx2") == "magic=5452"
    assert token.answer("watch C0A0 u8x2") == "at_c0a0=(72,88)"
    assert token.answer("watch C0AE t bit2") == "t=1"
    assert token.answer("poke C0A2 0x102 u16") == "C0A2 = 258"
    assert token.answer("watch C0A2 score u16") == "score=258"
    assert token.answer("unwatch magic") == "3 watched"


def test_signed_and_decimal_values_are_found(token: Session) -> None:
    token.answer("new i8")
    token.answer("poke C300 -77 i8")
    assert token.answer("equals -77").endswith("candidate: C300")
    assert token.answer("list") == "C300  i8  -77  (was -77)"
    token.answer("poke C300 1299 bcdx2")
    token.answer("new bcdx2")
    token.answer("poke C300 1300 bcdx2")
    assert token.answer("increased 1") == "2 candidates: C2FF, C300"  # 0012 99 became 0013 00
    token.answer("equals 1300")
    assert token.answer("list") == "C300  bcdx2  1300  (was 1300)"
    token.answer("poke C300 258 u16be")
    assert token.answer("watch C300 x u16be") == "x=258"


def test_mark_forgives_what_happened_in_between(token: Session) -> None:
    token.answer("new")
    token.answer("hold right 5")
    found = token.answer("increased")
    token.answer("hold left 30")  # a slip: the next `unchanged` would drop x
    assert token.answer("mark") == found
    token.answer("wait 2")
    token.answer("unchanged")
    assert "C0A0" in token.answer("list")


def test_a_live_view_is_shown_as_it_changes(token: Session) -> None:
    shown: list[tuple[int, int]] = []
    token._show = lambda lines, frames: shown.append((len(lines), frames))
    token.answer("hex C0A0 2")
    token.answer("wait 14")
    assert shown == [(2, 6), (2, 6), (2, 2), (0, 0)]


def test_the_same_seed_plays_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for _ in range(2):
        assert piped(monkeypatch, "hex C100 16\nplay 20\n", "--game", "lantern", "--seed", "5") == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


@pytest.mark.skipif(gba.lib is None, reason="mGBA is not installed")
@pytest.mark.parametrize(("rom", "flags", "address"), [("token.gba", (), "3000000"), ("token.gb", ("mgba",), "C0A0")])
def test_it_works_on_mgba(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rom: str, flags: tuple[str, ...], address: str
) -> None:
    text = "wait 200\nnew\nhold right 20\nincreased 20\nlist\n"
    assert piped(monkeypatch, text, "--rom", str(ROMS / rom), *(("--console", *flags) if flags else ())) == 0
    assert any(line.startswith(address) for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), "inspect needs a ROM or a title"),
        (("--rom", "nothing.gb"), "there is no ROM at nothing.gb"),
        (("--game", "lantren"), "did you mean 'lantern'"),
        (("--rom", str(ROMS / "token.gb"), "--script", "nothing.txt"), "the script nothing.txt cannot be read"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], said: str
) -> None:
    assert main(["inspect", *flags]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1

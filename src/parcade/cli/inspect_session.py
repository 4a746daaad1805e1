"""The commands of `parcade inspect`: a line in, an answer out; what is read and printed is somebody else's business."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from parcade.console.base import Console
from parcade.console.search import KINDS, TESTS, Candidates, Layout, Region, bounds_of, hex_lines
from parcade.errors import UserError, did_you_mean
from parcade.game.map_file import save_map
from parcade.game.memory_map import Field, MemoryMap
from parcade.host.input_file import read_input
from parcade.host.wording import counted

LISTED = 20  # candidates that `list` shows unless told
PRESS_FRAMES = 6  # `press` holds for so long, then lets go for as long
VIEW_FRAMES = 6  # a live view is shown again after so many frames
PATIENT_FRAMES = 60  # the longest the console runs on end: Ctrl-C is heard in between
LARGEST_STATE = 64 << 20
LARGEST_MOVE = 1_000_000  # frames of one command; more is a typing error
_KIND = re.compile(r"(u8|i8|u16be|u16|i16|u24be|u32|i32|bcd|bytes)(?:x(\d+))?|bit([0-7])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEX = re.compile(r"(?:0[xX])?[0-9A-Fa-f]+")


class InspectError(UserError):
    """A command that cannot be followed; the session goes on."""


class Command(NamedTuple):
    """How a command is written, how many words it takes, and what it does."""

    words: str
    least: int
    most: int
    text: str


COMMANDS = {
    "new": Command("[KIND]", 0, 1, f"start a search over all addresses, values unknown; {' '.join(KINDS)} [u8]"),
    "changed": Command("", 0, 0, "keep what differs from the last search command"),
    "unchanged": Command("", 0, 0, "keep what is the same"),
    "increased": Command("[N]", 0, 1, "keep what is larger (by N)"),
    "decreased": Command("[N]", 0, 1, "keep what is smaller (by N)"),
    "equals": Command("N", 1, 1, "keep what is N now"),
    "mark": Command("", 0, 0, "keep all, and compare with now from here on"),
    "undo": Command("", 0, 0, "undo the last narrowing"),
    "list": Command("[N]", 0, 1, f"show the first candidates [{LISTED}]"),
    "watch": Command("[ADDR [NAME] [KIND]]", 0, 3, "show a value after every move; u8 i8 u16 u16be u8x4 bcdx3 bit3 …"),
    "unwatch": Command("NAME", 1, 1, "stop watching it"),
    "hex": Command("ADDR [LINES] | off", 1, 2, "show memory now and after every move; * marks a change [4 lines]"),
    "hold": Command("BUTTONS FRAMES", 2, 2, "hold buttons (right, up+a) for FRAMES frames"),
    "wait": Command("FRAMES", 1, 1, "hold nothing"),
    "press": Command("BUTTONS", 1, 1, f"hold for {PRESS_FRAMES} frames, let go for {PRESS_FRAMES}"),
    "play": Command("STEPS", 1, 1, "let a random policy play"),
    "restart": Command("[SEED]", 0, 1, "begin again: the title's episode of SEED, or power-on [0]"),
    "poke": Command("ADDR VALUE [KIND]", 2, 3, "write memory, in a kind that `new` knows [u8]"),
    "state": Command("save|load FILE", 2, 2, "save or load the state of the whole machine"),
    "save": Command("FILE", 1, 1, "write the watch list as a memory map (YAML)"),
    "shot": Command("FILE.png", 1, 1, "write the picture"),
    "help": Command("", 0, 0, "this"),
    "quit": Command("", 0, 0, "leave"),
}


class Session:
    """One console under inspection.

    ``restart`` brings the console to the start of an episode. ``show`` is told the live view while the game moves,
    with the number of frames since the last time, and may take its time; no lines mean that the move is over.
    """

    def __init__(
        self,
        console: Console,
        regions: Sequence[Region],
        moves: Sequence[int],
        frame_skip: int,
        restart: Callable[[int], None],
        rng: np.random.Generator,
        show: Callable[[list[str], int], None] | None = None,
    ) -> None:
        self.console, self.over, self.frames = console, False, 0
        self.watched: dict[str, Field] = {}
        self._layout = Layout(regions)
        self._searches: list[Candidates] = []  # the present one is last
        self._moves, self._frame_skip, self._begin, self._rng, self._show = moves, frame_skip, restart, rng, show
        self._view: tuple[int, int] | None = None  # address and lines of the hex view
        self._seen = b""  # what the view showed last

    def answer(self, line: str) -> str:
        """Follow one command and return what to say; a command that cannot be followed raises UserError."""
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise InspectError(f"{line!r} cannot be read: {str(error).lower()}") from None
        if not words:
            return ""
        name, *given = words
        command = COMMANDS.get(name)
        if command is None:
            raise InspectError(f"{name!r} is not a command{did_you_mean(name, COMMANDS)}; `help` lists them")
        if not command.least <= len(given) <= command.most:
            raise InspectError(f"{name} is written `{f'{name} {command.words}'.strip()}`, got {line.strip()!r}")
        if name in TESTS:
            return self._narrow(name, *given)
        text: str = getattr(self, f"_do_{name}")(*given)
        return text

    def _do_new(self, kind: str = "u8") -> str:
        if kind not in KINDS:
            raise InspectError(f"a search is for {', '.join(KINDS)}, got {kind!r}{did_you_mean(kind, KINDS)}")
        self._searches = [self._layout.begin(self._layout.image(self.console), kind)]
        ranges = ", ".join(f"{r.name} {r.start:04X}-{r.end - 1:04X}" for r in self._layout.regions)
        return f"{len(self._searches[-1])} candidates, {kind}, in {ranges}"

    def _narrow(self, test: str, number: str | None = None) -> str:
        amount = None if number is None else _number(number, signed=test == "equals")
        least, most = bounds_of(self._present().kind)
        if test == "equals" and amount is not None and not least <= amount <= most:
            raise InspectError(f"{self._present().kind} holds {least} to {most}, so nothing equals {amount}")
        self._searches.append(self._layout.narrow(self._present(), self._layout.image(self.console), test, amount))
        return self._found()

    def _do_mark(self) -> str:
        self._searches.append(self._layout.look(self._present(), self._layout.image(self.console)))
        return self._found()

    def _do_undo(self) -> str:
        if len(self._searches) < 2:
            raise InspectError("there is no narrowing to undo")
        self._searches.pop()
        return self._found()

    def _do_list(self, most: str = str(LISTED)) -> str:
        found, shown = self._present(), max(1, _number(most))
        lines = [
            f"{address:04X}  {found.kind}  {self._value(_field(int(address), found.kind))}  (was {value})"
            for address, value in zip(self._layout.addresses(found)[:shown], found.values[:shown], strict=True)
        ]
        if len(found) > shown:
            lines.append(f"… and {len(found) - shown} more")
        return "\n".join(lines) or "no candidates"

    def _present(self) -> Candidates:
        if not self._searches:
            raise InspectError("no search is open; start one with `new`")
        return self._searches[-1]

    def _found(self) -> str:
        found = self._present()
        if not 0 < len(found) <= 4:
            return f"{len(found)} candidates" + ("" if len(found) else "; `undo` undoes the last narrowing")
        places = ", ".join(f"{address:04X}" for address in self._layout.addresses(found))
        return f"{len(found)} {'candidate' if len(found) == 1 else 'candidates'}: {places}"

    def _do_watch(self, address: str | None = None, name: str | None = None, kind: str | None = None) -> str:
        if address is None and not self.watched:
            return "nothing is watched"
        if address is None:
            return "\n".join(f"{n}  {f.address:04X}  {f.kind}  {self._value(f)}" for n, f in self.watched.items())
        if name is not None and kind is None and _KIND.fullmatch(name):
            name, kind = None, name
        field = _field(_address(address), kind or "u8")
        name = name or f"at_{field.address:04x}"
        if not _NAME.fullmatch(name):
            raise InspectError(f"{name!r} is not a valid field name; use letters, digits and _")
        value = self._value(field)  # an address outside the console is refused here
        self.watched[name] = field
        return f"{name}={value}"

    def _do_unwatch(self, name: str) -> str:
        if name not in self.watched:
            raise InspectError(f"{name!r} is not watched{did_you_mean(name, self.watched)}")
        del self.watched[name]
        return f"{len(self.watched)} watched"

    def _do_hex(self, address: str, lines: str = "4") -> str:
        if address == "off":
            self._view = None
            return "no hex view"
        view = (_address(address), _number(lines))
        if not 1 <= view[1] <= 64:
            raise InspectError(f"a hex view has 1 to 64 lines, got {lines}")
        self.console.read(view[0], 16 * view[1])  # refused where it reaches outside the console
        self._view, self._seen = view, b""
        return "\n".join(self._look())

    def _look(self) -> list[str]:
        """Return the hex view, with what changed since it was last returned."""
        if self._view is None:
            return []
        address, lines = self._view
        shown = hex_lines(self.console, address, lines, self._seen)
        self._seen = bytes(self.console.read(address, 16 * lines))
        return shown

    def _value(self, field: Field) -> str:
        value = field.read(self.console)
        return value.hex() if isinstance(value, bytes) else str(value).replace(" ", "")

    def _do_hold(self, buttons: str, frames: str) -> str:
        return self._move([(self._mask(buttons), _frames(frames))])

    def _do_wait(self, frames: str) -> str:
        return self._move([(0, _frames(frames))])

    def _do_press(self, buttons: str) -> str:
        return self._move([(self._mask(buttons), PRESS_FRAMES), (0, PRESS_FRAMES)])

    def _do_play(self, steps: str) -> str:
        count = _frames(steps)
        choices = self._rng.integers(len(self._moves), size=count)
        return self._move([(self._moves[choice], self._frame_skip) for choice in choices])

    def _move(self, moves: Sequence[tuple[int, int]]) -> str:
        """Hold each mask for its frames; the last frame is drawn. While a view is shown, it is shown as it changes."""
        total, before = sum(frames for _, frames in moves), self._seen
        show = self._show if self._view is not None else None
        left = total
        try:
            for held, frames in moves:
                for part in _parts(frames, VIEW_FRAMES if show else PATIENT_FRAMES):
                    left -= part
                    self.console.advance(held, part, draw=left == 0)
                    if show:
                        show(self._look(), part)
        finally:  # Ctrl-C ends a long move, not the session
            if show:
                show([], 0)
        self.frames += total
        self._seen = before  # the answer marks what the whole move changed
        watched = "".join(f" {name}={self._value(field)}" for name, field in self.watched.items())
        return "\n".join([f"{total} frames{watched}", *self._look()])

    def _mask(self, buttons: str) -> int:
        mask = 0
        for name in buttons.lower().split("+"):
            if name not in self.console.buttons:
                hint = did_you_mean(name, self.console.buttons)
                raise InspectError(
                    f"the console has no button {name!r}{hint}; it has {', '.join(self.console.buttons)}"
                )
            mask |= 1 << self.console.buttons.index(name)
        return mask

    def _do_poke(self, address: str, value: str, kind: str = "u8") -> str:
        number = _number(value, signed=True)
        if kind not in KINDS:
            raise InspectError(f"poke writes {', '.join(KINDS)}, got {kind!r}{did_you_mean(kind, KINDS)}")
        self.console.write(_address(address), _encoded(number, kind))
        return f"{_address(address):04X} = {number}"

    def _do_restart(self, seed: str = "0") -> str:
        self._begin(_number(seed))
        return f"restarted with seed {_number(seed)}"

    def _do_state(self, verb: str, file: str) -> str:
        if verb == "save":
            data = self.console.save()
            Path(file).write_bytes(data)
            return f"{file}: {len(data)} bytes"
        if verb != "load":
            raise InspectError(f"state is written `state save FILE` or `state load FILE`, got {verb!r}")
        self.console.load(read_input(file, LARGEST_STATE))
        return f"loaded {file}"

    def _do_save(self, file: str) -> str:
        if not self.watched:
            raise InspectError("nothing is watched yet; name what you found with `watch ADDR NAME KIND`")
        save_map(file, MemoryMap(self.watched))
        return f"{file}: {counted(len(self.watched), 'field')}"

    def _do_shot(self, file: str) -> str:
        import cv2

        if not file.endswith(".png"):
            raise InspectError(f"the picture is a PNG; {file!r} does not end in .png")
        screen = self.console.screen()
        Path(file).write_bytes(cv2.imencode(".png", np.ascontiguousarray(screen[..., 2::-1]))[1].tobytes())
        return f"{file}: {screen.shape[1]} x {screen.shape[0]}"

    def _do_help(self) -> str:
        lines = [f"  {f'{name} {command.words}':<28} {command.text}" for name, command in COMMANDS.items()]
        return "\n".join([*lines, "Addresses are hexadecimal (C10D or 0xC10D), numbers decimal or 0x."])

    def _do_quit(self) -> str:
        self.over = True
        return ""


def _parts(frames: int, most: int) -> list[int]:
    return [min(most, frames - done) for done in range(0, frames, most)]


def _number(text: str, signed: bool = False) -> int:
    try:
        number = int(text, 0)
    except ValueError:
        raise InspectError(f"{text!r} is no whole number") from None
    if number < 0 and not signed:
        raise InspectError(f"{text!r} is no whole number from 0 on")
    return number


def _encoded(number: int, kind: str) -> bytes:
    """Return the bytes that mean ``number``."""
    size = KINDS[kind]
    try:
        if kind.startswith("bcd"):
            if not 0 <= number < 100**size:
                raise OverflowError
            return bytes.fromhex(f"{number:0{2 * size}d}")
        order: Literal["big", "little"] = "big" if kind.endswith("be") else "little"
        return number.to_bytes(size, order, signed=kind.startswith("i"))
    except OverflowError:
        raise InspectError(f"{number} does not fit in {kind}") from None


def _frames(text: str) -> int:
    number = _number(text)
    if not 1 <= number <= LARGEST_MOVE:
        raise InspectError(f"a move takes 1 to {LARGEST_MOVE}, got {text}")
    return number


def _address(text: str) -> int:
    if not _HEX.fullmatch(text):
        raise InspectError(f"{text!r} is no address; write it in hexadecimal, such as C10D")
    return int(text, 16)


def _field(address: int, kind: str) -> Field:
    """Read u16, u8x4 (an array), bcdx3 (six digits) or bit3."""
    match = _KIND.fullmatch(kind)
    if match is None or match[2] == "0":
        raise InspectError(
            f"{kind!r} is no kind of value; use u8 i8 u16 i16 u32 i32 u16be u24be bcdx3 bytesx4 u8x4 bit3"
        )
    if match[3] is not None:
        return Field(address, "bit", bit=int(match[3]))
    return Field(address, match[1], count=int(match[2] or 1))

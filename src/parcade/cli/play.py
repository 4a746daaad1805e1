"""Play a game yourself, in a window, and make start states for training.

  parcade play --game lantern
  parcade play --rom red.gb                    the ROM's hash selects the title; an unknown ROM works too
  parcade play --game meadow --visual          show decoded fields and rewards beside the picture
  parcade play --rom red.gb --state states/pokemon-red/001.state
  parcade play --game lantern --record demo.zip  record what you do, for `parcade train --demos` (docs/episodes.md)

Arrows move, X or Space is A, Z is B, Enter is START, Backspace is SELECT, A and S are L and R. F5 saves a start state
with its picture, F9 loads the last one; Tab shows fields and rewards; P pauses, N plays one frame, + and - change the
speed; R begins an episode, Escape quits. A gamepad's cross or stick moves; --pad a=0,b=1 assigns its buttons.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcade.cli.flags import UsageError, add_setting_flags, add_speed_flag, given_settings, pairs, whole_number
from parcade.errors import MissingExtraError, ParcadeError, RomError, UserError

if TYPE_CHECKING:
    from parcade.cli.play_session import PlaySession
    from parcade.env.pace import Wish
    from parcade.view.play_window import PlayWindow

KEYS = {
    "right": ("right",),
    "left": ("left",),
    "up": ("up",),
    "down": ("down",),
    "a": ("x", "space"),
    "b": ("z",),
    "start": ("return",),
    "select": ("backspace",),
    "l": ("a",),
    "r": ("s",),
}
HELP = (
    "arrows move, X is A, Z is B, Enter is START; F5 saves a start state, F9 loads it, Tab shows fields and rewards, "
)
HELP += "P pauses, N one frame, + - speed, R restarts, Escape leaves"
FRAMES_PER_S = 60
NOTE_S = 4.0  # how long a note stays
_PACE_KEYS = {"p": "space", "n": "n", "+": "+", "=": "+", "[+]": "+", "-": "-", "[-]": "-"}  # Space is a button here


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add what chooses the game and the window."""
    parser.add_argument("--scale", type=whole_number, default=4, metavar="N", help="enlarge the picture N times [4]")
    parser.add_argument("--visual", action="store_true", help="show fields and rewards from the start (Tab)")
    add_speed_flag(parser)
    parser.add_argument("--states", metavar="FOLDER", help="folder for the start states that F5 saves [states/<game>]")
    parser.add_argument("--record", metavar="FILE", help="record the episodes that you play; a file is continued")
    parser.add_argument(
        "--pad", type=pairs, metavar="K=N,…", help="buttons of a gamepad [a=0,b=1,l=4,r=5,select=6,start=7]"
    )
    parser.add_argument("--frames", type=whole_number, metavar="N", help="quit after N frames")
    parser.add_argument("--screenshot", metavar="FILE", help="write the last picture to this PNG")
    add_setting_flags(
        parser, {"game", "rom", "state", "console", "seed", "game_options", "reward_weights", "max_steps"}
    )


def run(arguments: argparse.Namespace) -> int:
    """Open a window and let the person play at 60 frames a second."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    os.environ.setdefault("SDL_NO_SIGNAL_HANDLERS", "1")  # SIGTERM ends this process, as any other
    try:
        import pygame
    except ImportError:
        raise MissingExtraError("the window needs pygame; pip install 'parcade[view]'") from None
    from parcade.cli.play_recording import RecordingSession
    from parcade.env.pace import Wish

    session, title = _open_recording(arguments) if arguments.record else _open(arguments)
    try:
        window = _open_window(pygame, session, arguments, title)
        print(HELP, file=sys.stderr, flush=True)
        wish = Wish(1.0 if arguments.speed is None else arguments.speed)
        loop = PlayLoop(pygame, window, session, wish, pad_buttons(arguments.pad))
        loop.shows_facts = arguments.visual
        if not session.is_recording:  # an env of a known title records, in this process
            hosted: Any = session.console
            hosted.while_waiting(loop.leave_if_asked)
        try:
            with suppress(_LeftError):
                loop.play(arguments.frames)
        finally:
            print(session.close(), end="\n" if session.is_recording else "", file=sys.stderr, flush=True)
        if arguments.screenshot:
            pygame.image.save(window.surface, arguments.screenshot)
    finally:
        session.console.close()
        pygame.quit()
    if arguments.json:
        told: dict[str, Any] = {"frames": session.frames, "states": [str(path) for path in loop.saved]}
        if isinstance(session, RecordingSession):
            told |= {"file": arguments.record, "episodes": len(session.records) - session.n_before}
        print(json.dumps(told))
    return 0


def _open(arguments: argparse.Namespace) -> tuple[PlaySession, str]:
    """Return the session and the game's title; an unknown ROM is played without one, and said to be unknown."""
    from parcade.cli.play_session import PlaySession
    from parcade.config.settings import make_settings
    from parcade.console.hosted import HostedConsole
    from parcade.console.rom import read_rom
    from parcade.env.console_env import merged_weights
    from parcade.env.make import find_rom, make_game, read_save_states, title_of_rom
    from parcade.train.given import env_spec

    given = given_settings(arguments)
    if "max_steps" in given:
        raise UsageError("--max-steps is for --record; without it you play as long as you like")
    game, rom = None, None
    if "rom" in given and "game" not in given:
        rom = read_rom(given["rom"])
        try:
            given["game"] = title_of_rom(rom)
        except RomError:
            told = (
                "no title that Parcade knows: it plays without fields and rewards (`parcade inspect` finds addresses)"
            )
            print(f"parcade: {rom.name} is {told}", file=sys.stderr, flush=True)
    if rom is None or "game" in given:
        spec = env_spec(make_settings(given))
        game = make_game(spec)
        rom = find_rom(spec, game)
    name = game.name if game else Path(rom.name).stem
    weights = merged_weights(game, given.get("reward_weights", {})) if game else None
    folder = Path(arguments.states or Path("states", name))
    modules = [type(game).__module__] if game else []
    console = HostedConsole(rom, given.get("console", "auto"), game.system if game else None, modules)
    try:
        states = read_save_states(given.get("state"), console=console)
        start = states[0] if states else None
        return PlaySession(
            console, game, folder, given.get("seed", 0), start, weights
        ), game.title if game else rom.name
    except BaseException:
        console.close()
        raise


def _open_recording(arguments: argparse.Namespace) -> tuple[PlaySession, str]:
    """Return a session that records, in the env that a training with these settings would have."""
    from parcade.cli.play_recording import RecordingSession
    from parcade.config.settings import make_settings
    from parcade.env.console_env import ConsoleEnv
    from parcade.env.make import make
    from parcade.train.given import env_spec, with_title
    from parcade.train.origin import origin_of

    given, file = given_settings(arguments), Path(arguments.record)
    if not file.parent.is_dir():
        raise UsageError(f"the folder of {file} does not exist")
    spec = env_spec(make_settings(with_title(given)))
    origin, env = origin_of(spec.with_(holds_all_states=True), "person"), make(spec.with_(render=True))
    assert isinstance(env, ConsoleEnv)
    try:
        folder = Path(arguments.states or Path("states", env.game.name))
        return RecordingSession(env, origin, file, folder, given.get("seed", 0)), env.game.title
    except ParcadeError:
        env.close()
        raise


def pad_buttons(given: dict[str, Any] | None) -> dict[str, int]:
    """Return which button of a gamepad means what, as the user says it."""
    for name, number in (given or {}).items():
        if name not in KEYS or type(number) is not int or not 0 <= number < 256:
            raise UsageError(f"--pad has {name}={number}, wanted one of {', '.join(KEYS)} and the number of a button")
    return dict(given or {})


def _open_window(pygame: Any, session: PlaySession, arguments: argparse.Namespace, title: str) -> PlayWindow:
    from parcade.view.display import why_no_display
    from parcade.view.play_window import PlayWindow

    why_not = why_no_display(pygame)
    try:
        if not why_not:
            shape = session.console.screen_shape
            return PlayWindow(pygame, shape, arguments.scale, f"{title} - Parcade", has_panel=arguments.visual)
    except pygame.error as error:
        why_not = str(error)
    raise UserError(
        f"no window can be opened here ({why_not}); play on a machine with a display, or use `parcade eval --video`"
    )


class _LeftError(Exception):
    """The person has left in the middle of a frame."""


class PlayLoop:
    """Keys in, frames out, at the pace that was asked for."""

    def __init__(
        self, pygame: Any, window: PlayWindow, session: PlaySession, wish: Wish, pad: dict[str, int] | None = None
    ) -> None:
        from parcade.view.gamepad import Gamepad

        self._pygame, self._window, self._session, self._wish = pygame, window, session, wish
        buttons = session.console.buttons
        self._keys = [tuple(pygame.key.key_code(key) for key in KEYS.get(name, ())) for name in buttons]
        self._pad = Gamepad(pygame, pad)
        self._bits = {name: 1 << bit for bit, name in enumerate(buttons)}
        self._clock = pygame.time.Clock()
        self._note, self._note_until_s = "", 0.0
        self._single_steps = 0  # taken
        self.shows_facts = False
        self.saved: list[Path] = []

    def play(self, frames: int | None) -> None:
        """Play until the window is closed, or for so many frames."""
        session = self._session
        while frames is None or session.frames < frames:
            for event in self._pygame.event.get():
                self._pad.take(event)
                if event.type == self._pygame.QUIT:
                    return
                if event.type == self._pygame.KEYDOWN and not self._follow(self._pygame.key.name(event.key)):
                    return
            for _ in range(self._frames_due()):
                session.advance(self._held())
            self._draw()

    def leave_if_asked(self) -> None:
        """Leave when the window is closed while the console does not answer."""
        for event in self._pygame.event.get():
            is_escape = event.type == self._pygame.KEYDOWN and self._pygame.key.name(event.key) == "escape"
            if is_escape or event.type == self._pygame.QUIT:
                raise _LeftError

    def _follow(self, key: str) -> bool:
        """Do what a key is for; return whether to play on."""
        from parcade.view.controls import pressed, status

        if key == "escape":
            return False
        if key in _PACE_KEYS:
            self._wish = pressed(self._wish, _PACE_KEYS[key])
            self._say(status(self._wish))
        elif key == "r":
            self._say(self._session.restart())
        elif key == "tab":
            self.shows_facts = not self.shows_facts
        elif key == "f5":
            self._save()
        elif key == "f9":
            self._load()
        return True

    def _load(self) -> None:
        try:
            self._say("loaded" if self._session.load() else "there is no state yet: F5 saves one")
        except UserError as error:
            self._say(str(error))

    def _save(self) -> None:
        try:
            path = self._session.save()
        except UserError as error:
            self._say(str(error))
            return
        self.saved.append(path)
        self._say(f"saved {path}")
        print(f"{path} and its picture are saved; {self._session.use_of(path)}", file=sys.stderr, flush=True)

    def _say(self, note: str) -> None:
        self._note, self._note_until_s = note, time.monotonic() + NOTE_S

    def _frames_due(self) -> int:
        """Wait for the next picture's time and return how many frames to play before it."""
        wish = self._wish
        self._clock.tick(min(FRAMES_PER_S, FRAMES_PER_S * wish.speed) if wish.speed else 0)
        if wish.paused:
            asked, self._single_steps = wish.single_steps - self._single_steps, wish.single_steps
            return asked
        return max(1, round(wish.speed))

    def _held(self) -> int:
        down = self._pygame.key.get_pressed()
        held = sum(1 << bit for bit, codes in enumerate(self._keys) if any(down[code] for code in codes))
        for name in self._pad.held:
            held |= self._bits.get(name, 0)
        return held

    def _draw(self) -> None:
        from parcade.view.controls import status

        if self._session.note:
            self._say(self._session.note)
            self._session.note = ""
        note = self._note if time.monotonic() < self._note_until_s else ""
        note = note or (status(self._wish) if self._wish.paused else "")
        self._window.draw(self._session.console.screen(), self._session.facts() if self.shows_facts else None, note)

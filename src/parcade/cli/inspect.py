"""Find where a game keeps its values: search memory while you, or a random policy, play.

  parcade inspect --rom mygame.gb                 type commands; `help` lists them
  parcade inspect --game lantern                  a title: starts its episode, plays its actions
  parcade inspect --rom mygame.gb --script find.txt
  echo "new" | parcade inspect --rom mygame.gb

The game is paused between commands; Ctrl-C stops a long one, Ctrl-D quits. `new`, then play, then `changed`,
`unchanged`, `increased`, `decreased` or `equals N` until few addresses are left; `watch` names them; `save FILE` writes
a memory map that your own game loads. docs/add-a-game.md is a tutorial.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from parcade.cli.flags import UsageError, add_setting_flags, given_settings
from parcade.errors import ParcadeError, RunError
from parcade.host.input_file import read_input
from parcade.host.interrupts import heed_again

if TYPE_CHECKING:
    from parcade.cli.inspect_session import Session

PROMPT = "> "
FRAMES_PER_S = 60
LARGEST_SCRIPT = 1 << 20


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add what chooses the game and where commands come from."""
    parser.add_argument("--script", metavar="FILE", help="read commands from FILE instead of the terminal")
    add_setting_flags(parser, {"game", "rom", "state", "console", "seed"})


def run(arguments: argparse.Namespace) -> int:
    """Answer commands until `quit` or the end of input; 1 if a command of a script could not be followed."""
    given = given_settings(arguments)
    if "rom" not in given and "game" not in given:
        raise UsageError("inspect needs a ROM or a title; give --rom FILE or --game NAME")
    typed = arguments.script is None and sys.stdin.isatty()
    lines = _typed() if typed else _read(arguments.script)
    session = _open(given, live=typed and sys.stdout.isatty())
    try:
        commands, errors = _converse(session, lines, echo=not typed)
    finally:
        session.console.close()
    if arguments.json:
        print(json.dumps({"commands": commands, "errors": errors, "frames": session.frames}))
    return 1 if errors and not typed else 0


def _open(given: dict[str, Any], live: bool) -> Session:
    """Return a session on the console, at the start of an episode or at power-on."""
    import numpy as np

    from parcade.cli.inspect_session import Session
    from parcade.console.base import button_mask
    from parcade.console.hosted import HostedConsole
    from parcade.console.rom import read_rom
    from parcade.console.search import ram_regions
    from parcade.env.make import find_rom, make_game, read_save_states
    from parcade.env.spec import EnvSpec

    seed = given.pop("seed", 0)
    spec = EnvSpec(**given) if "game" in given else None
    game = make_game(spec) if spec else None
    rom = find_rom(spec, game) if spec and game else read_rom(given["rom"])
    states = read_save_states(given.get("state"))
    modules = [type(game).__module__] if game else []
    console = HostedConsole(rom, given.get("console", "auto"), modules=modules)
    start = states[0] if states else console.save()

    def restart(seed: int) -> None:
        console.load(start)
        if game is not None:
            (game.start_from_state if states else game.start)(console, seed)

    if game is not None:
        moves = [button_mask(console.buttons, *action.buttons) for action in game.actions]
    else:  # START and SELECT are left out: a random policy would live in menus
        moves = [0, *(button_mask(console.buttons, name) for name in ("up", "down", "left", "right", "a", "b"))]
    try:
        restart(seed)
    except BaseException:
        console.close()
        raise
    frame_skip = game.frame_skip if game is not None else 6
    rng = np.random.default_rng([seed])
    return Session(console, ram_regions(rom), moves, frame_skip, restart, rng, _LiveView() if live else None)


def _converse(session: Session, lines: Iterator[str], echo: bool) -> tuple[int, int]:
    """Answer every line; return how many there were and how many could not be followed."""
    commands = errors = 0
    for line in lines:
        if echo:
            print(f"{PROMPT}{line}")
        commands += 1
        try:
            answer = session.answer(line)
        except RunError:
            raise  # the console is gone
        except ParcadeError as error:
            errors, answer = errors + 1, f"error: {error}"
        except OSError as error:  # a file of a command; printing happens outside this block
            errors, answer = errors + 1, f"error: {error.filename or line}: {error.strerror}"
        except KeyboardInterrupt:
            if echo:
                raise
            heed_again()
            answer = "\nstopped"  # below the terminal's ^C
        if answer:
            print(answer, flush=True)
        if session.over:
            break
    return commands, errors


def _typed() -> Iterator[str]:
    """Yield what is typed, with history and editing where Python has them."""
    try:
        import readline  # noqa: F401  (importing it changes what input() does)
    except ImportError:
        pass
    while True:
        try:
            line = input(PROMPT)
        except KeyboardInterrupt:  # as in every shell: a new line; Ctrl-D leaves
            heed_again()
            print()
            continue
        except EOFError:
            print()
            return
        yield line


def _read(script: str | None) -> Iterator[str]:
    """Yield the lines of a script, or of standard input as they come."""
    if script is None:
        yield from (line.rstrip("\n") for line in sys.stdin)
        return
    try:
        text = read_input(script, LARGEST_SCRIPT).decode()
    except UnicodeDecodeError:
        raise UsageError(f"the script {script} is not text") from None
    except OSError as error:
        raise UsageError(f"the script {script} cannot be read: {error.strerror}") from None
    yield from text.splitlines()


class _LiveView:
    """Draws the hex view in place while the game moves, at the game's own speed."""

    def __init__(self) -> None:
        self._next_s = 0.0

    def __call__(self, lines: list[str], frames: int) -> None:
        now_s = time.monotonic()
        self._next_s = max(self._next_s, now_s) + frames / FRAMES_PER_S
        time.sleep(self._next_s - now_s)
        back = f"\x1b[{len(lines)}A" if lines else ""
        sys.stdout.write("\x1b[J" + "".join(f"{line}\n" for line in lines) + back)
        sys.stdout.flush()

"""Play a game yourself, in a window.

  parcade play --game lantern
  parcade play --game pokemon-red --rom red.gb

Arrows move, X or Space is A, Z is B, Enter is START, Backspace is SELECT, A and S are L and R, R restarts, Escape
leaves.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

from parcade.cli.flags import add_setting_flags, given_settings, whole_number
from parcade.errors import MissingExtraError, UserError

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


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add what chooses the game and the window."""
    parser.add_argument("--scale", type=whole_number, default=4, metavar="N", help="how much to enlarge [4]")
    parser.add_argument("--frames", type=whole_number, metavar="N", help="leave by itself after N frames")
    parser.add_argument("--screenshot", metavar="FILE", help="write the last picture as a PNG when leaving")
    add_setting_flags(parser, {"game", "rom", "state", "console", "seed"})


def run(arguments: argparse.Namespace) -> int:
    """Open a window and let the person play at 60 frames a second."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
    except ImportError:
        raise MissingExtraError("the window needs pygame; pip install 'parcade[view]'") from None
    from parcade.assembly import env_spec
    from parcade.env.make import find_rom, make_game, open_console, read_save_states
    from parcade.settings import make_settings

    settings = make_settings(given_settings(arguments))
    spec = env_spec(settings)
    game = make_game(spec)
    console = open_console(find_rom(spec, game), spec.console)
    states = read_save_states(spec.state)
    if states:
        console.load(states[0])
    height, width, _ = console.screen_shape
    size = (width * arguments.scale, height * arguments.scale)
    window = _open_window(pygame, size)
    pygame.display.set_caption(f"{game.title} - Parcade")
    print("arrows move, X is A, Z is B, Enter is START, R restarts, Escape leaves", file=sys.stderr, flush=True)
    keys = [tuple(pygame.key.key_code(key) for key in KEYS[name]) for name in console.buttons]
    frames = _loop(pygame, window, size, console, keys, arguments.frames, lambda: game.start(console, settings.seed))
    if arguments.screenshot:
        pygame.image.save(window, arguments.screenshot)
    console.close()
    pygame.quit()
    if arguments.json:
        print(json.dumps({"frames": frames}))
    return 0


def _open_window(pygame: Any, size: tuple[int, int]) -> Any:
    from parcade.view.display import why_no_display

    why_not = why_no_display(pygame)
    try:
        if not why_not:
            return pygame.display.set_mode(size)
    except pygame.error as error:
        why_not = str(error)
    raise UserError(
        f"no window can be opened here ({why_not}); play on a machine with a display, or use `parcade eval --video`"
    )


def _loop(
    pygame: Any, window: Any, size: tuple[int, int], console: Any, keys: Any, frames: int | None, restart: Any
) -> int:
    clock, count, started = pygame.time.Clock(), 0, time.monotonic()
    while frames is None or count < frames:
        for event in pygame.event.get():
            if event.type == pygame.QUIT or (event.type == pygame.KEYDOWN and event.key == pygame.K_ESCAPE):
                return count
            if event.type == pygame.KEYDOWN and event.key == pygame.K_r:
                restart()
        pressed = pygame.key.get_pressed()
        held = sum(1 << bit for bit, codes in enumerate(keys) if any(pressed[code] for code in codes))
        console.advance(held, 1)
        picture = pygame.surfarray.make_surface(console.screen()[..., :3].swapaxes(0, 1))
        pygame.transform.scale(picture, size, window)
        pygame.display.flip()
        count += 1
        if count % 300 == 0 and sys.stderr.isatty():
            print(f"\r{count / (time.monotonic() - started):.0f} frames/s ", end="", file=sys.stderr, flush=True)
        clock.tick(60)
    return count

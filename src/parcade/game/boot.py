"""From power-on to the first moment of control: a button script with a stop condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parcade.console.base import Console, Memory, button_mask
from parcade.errors import EnvError

BootStep = tuple[tuple[str, ...], int]  # the buttons held, and for how many frames
IDLE_FRAMES = 60


def run_boot_script(
    console: Console, script: Sequence[BootStep], done: Callable[[Memory], bool], frame_limit: int
) -> int:
    """Repeat ``script`` until ``done`` holds; return the frames it took, with every button released.

    ``done`` is asked before the first press and after each entry, so a console that is already in control is left
    as it is. Nothing is drawn on the way. More than ``frame_limit`` frames without success raise EnvError.
    """
    if not script or any(frames < 1 for _, frames in script):
        raise ValueError("a boot script needs entries of 1 frame or more")
    steps = [(button_mask(console.buttons, *buttons), frames) for buttons, frames in script]
    used = 0
    while not done(console):
        held, frames = steps.pop(0)
        steps.append((held, frames))
        if used + frames > frame_limit:
            raise EnvError(
                f"the boot script did not reach the start of play in {frame_limit} frames; "
                "play to the start once and give the save state with --state"
            )
        console.advance(held, frames, draw=False)
        used += frames
    if used:
        console.advance(0, 1, draw=False)
        used += 1
    return used


def idle(console: Console, seed: int, most: int = IDLE_FRAMES) -> None:
    """Wait 1 to ``most`` frames, told by ``seed`` alone, so that episodes from one start do not run alike."""
    console.advance(0, 1 + seed % most)

"""Keys that slow a watched game down, hurry it up, stop it and take single steps; pure, without a window."""

from __future__ import annotations

from dataclasses import replace

from parcade.env.pace import Wish

SLOWEST, FASTEST = 0.125, 64.0
HELP = "Space pauses, N takes one step, + and - change the speed, Escape closes"
_FASTER, _SLOWER = ("+", "=", "[+]"), ("-", "[-]")  # names of keys as pygame gives them


def pressed(wish: Wish, key: str) -> Wish:
    """Return what is wanted after ``key``; a key that means nothing changes nothing.

    >>> pressed(pressed(Wish(), "n"), "+")
    Wish(speed=2.0, paused=True, single_steps=1)
    """
    if key == "space":
        return replace(wish, paused=not wish.paused)
    if key == "n":
        return replace(wish, paused=True, single_steps=wish.single_steps + 1)
    if key in _FASTER and wish.speed:
        return replace(wish, speed=min(2 * wish.speed, FASTEST))
    if key in _SLOWER:
        return replace(wish, speed=max(wish.speed / 2, SLOWEST) if wish.speed else FASTEST)
    return wish


def status(wish: Wish) -> str:
    """Return the pace in words.

    >>> status(Wish(2.0)), status(Wish(0.0)), status(Wish(paused=True))
    ('speed 2', 'as fast as it goes', 'paused')
    """
    if wish.paused:
        return "paused"
    return f"speed {wish.speed:g}" if wish.speed else "as fast as it goes"

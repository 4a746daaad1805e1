"""What is looked at directly, where no command tells it: whether the weights of a file are those that were written."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parcade.bench.fuzz.server import WRONG_WEIGHTS


def same_model(path: str, original: str) -> int:
    """Load a model file; 2, with a sentence, where it is refused."""
    from parcade.train.policy_file import load_policy

    wanted = load_policy(original)[0].state_dict()
    return _loaded(lambda: load_policy(path)[0].state_dict(), [wanted])


def same_checkpoint(folder: str, originals: str) -> int:
    """Load the newest checkpoint of a folder; it may be any of the originals, whole."""
    from parcade.run.checkpoint import list_checkpoints, load_checkpoint, load_newest

    wanted = [dict(load_checkpoint(path).weights) for path in list_checkpoints(Path(originals))]
    return _loaded(lambda: dict(load_newest(Path(folder)).weights), wanted)


def _loaded(load: Callable[[], dict[str, Any]], wanted: list[dict[str, Any]]) -> int:
    from parcade.errors import ParcadeError

    try:
        found = load()
    except ParcadeError as error:
        print(f"parcade: {error}", file=sys.stderr)
        return 2
    return 0 if any(_equal(found, one) for one in wanted) else WRONG_WEIGHTS


def _equal(found: dict[str, Any], wanted: dict[str, Any]) -> bool:
    import numpy as np

    return found.keys() == wanted.keys() and all(
        np.asarray(found[name]).tobytes() == np.asarray(wanted[name]).tobytes() for name in wanted
    )


def save_states(*names: str) -> int:
    """Write the emulators' own states of games under way; ``names`` are built-in ROMs and files in turn."""
    from parcade.console.pyboy_state import unpack
    from parcade.console.registry import open_console
    from parcade.console.rom import builtin_rom
    from parcade.game.titles import find_title

    for rom, file in zip(names[::2], names[1::2], strict=True):
        console = open_console(builtin_rom(rom), "auto")
        find_title(Path(rom).stem).start(console, 0)  # a state of the title screen is refused for that alone
        console.advance(0, 240)
        saved = console.save()
        Path(file).write_bytes(saved if rom.endswith(".gba") else unpack(saved, builtin_rom(rom).sha1).raw)
        console.close()
    return 0


PROBES: dict[str, Callable[..., int]] = {"model": same_model, "checkpoint": same_checkpoint, "states": save_states}

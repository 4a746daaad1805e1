"""Check an env, a title or a config file before you train: play random actions and report faults.

  parcade check CartPole-v1                     a Gymnasium id
  parcade check lantern                         a title
  parcade check my_module:MyEnv                 a class of your own: a gymnasium.Env or a Game
  parcade check configs/pong.yaml               a config file: its settings, its env and its network
  parcade check --env-id ALE/Pong-v5 --resize 84 --grayscale    settings as in training

Finds wrong shapes and dtypes, reset and step of the old Gym, NaN (with slot, key and step), and envs that ignore their
seed or are not repeatable: a worker that dies could not be restored exactly. It also reports a crash or a hang.
The exit code is 0 without faults and 1 with faults.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from parcade.cli.flags import UsageError, add_setting_flags, given_settings, whole_number
from parcade.errors import RunError

ENV_SETTINGS = {
    *("game", "env_id", "rom", "state", "console", "imports", "env_kwargs", "game_options", "reward_weights"),
    *(
        "observation",
        "visited",
        "frame_skip",
        "frames_stack",
        "grayscale",
        "picture_size",
        "crop",
        "resize",
        "reward_clip",
    ),
    *("max_steps", "action_scale", "info_keys", "racing", "seed"),
}
DEADLINE_S = 60.0


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add what is checked and how long."""
    parser.add_argument("what", metavar="WHAT", nargs="?", help="title, Gymnasium id, module:Class or config file")
    parser.add_argument("--slots", type=whole_number, default=2, metavar="N", help="games to play, one by one [2]")
    parser.add_argument("--steps", type=whole_number, default=200, metavar="N", help="steps of each episode [200]")
    parser.add_argument(
        "--deadline-s", type=float, default=DEADLINE_S, metavar="X", help="seconds a step may take [60]"
    )
    add_setting_flags(parser, ENV_SETTINGS)


def run(arguments: argparse.Namespace) -> int:
    """Check in a process of its own; 1 if something is wrong."""
    given = given_settings(arguments)
    if arguments.what is None and not {"game", "env_id", "rom"} & set(given):
        raise UsageError("check needs a title, a Gymnasium id, module:Class or a config file")
    for name in ("slots", "steps"):
        if getattr(arguments, name) < 1:
            raise UsageError(f"--{name} is {getattr(arguments, name)}, wanted 1 or more")
    if arguments.deadline_s <= 0:
        raise UsageError(f"--deadline-s is {arguments.deadline_s:g}, wanted more than 0")
    result = _checked(arguments, given)
    result = {"ok": not result["faults"], **result}
    if arguments.json:
        print(json.dumps(result))
    else:
        _print(result, arguments)
    return 0 if result["ok"] else 1


def _checked(arguments: argparse.Namespace, given: dict[str, Any]) -> dict[str, Any]:
    """Return what is wrong; that the env crashes or hangs is wrong too."""
    from parcade.host.hosted import Hosted

    label = arguments.what or str(given.get("env_id") or given.get("game") or given.get("rom"))
    asked, started = (arguments.what, given, arguments.slots, arguments.steps), time.monotonic()
    try:
        checker = Hosted("the env", _checker, *asked, deadline_s=arguments.deadline_s)
        checker.on_silence = _say_silence
        try:
            result: dict[str, Any] = checker.call("run")
        finally:
            checker.close()
    except RunError as error:
        text = f"{str(error)[0].upper()}{str(error)[1:]}. A pool would restart its worker and truncate the episode."
        return {"env": label, "faults": [text], "notes": [], "seconds": time.monotonic() - started}
    return result


def _checker(*asked: Any) -> Any:
    """Import it in the other process only: what it imports may take its time."""
    from parcade.train.checking import Checker

    return Checker(*asked)


def _say_silence(seconds: float, place: str) -> None:
    print(f"parcade: no progress for {seconds:.0f} s, at {place}", file=sys.stderr, flush=True)


def _print(result: dict[str, Any], arguments: argparse.Namespace) -> None:
    from parcade.host.wording import counted

    if result["faults"]:
        print(f"{result['env']}: {counted(len(result['faults']), 'fault')}")
    else:
        played = f"{counted(arguments.slots, 'game')} of up to {counted(arguments.steps, 'step')}"
        print(f"{result['env']}: nothing is wrong ({played}, {result['seconds']:.1f} s)")
    for text in result["faults"]:
        print(f"  {text}")
    for text in result["notes"]:
        print(f"  note: {text}")

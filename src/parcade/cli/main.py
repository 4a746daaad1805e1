"""`parcade`: finds the verb, runs it, turns errors into one sentence and an exit code."""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from parcade.cli.flags import Parser, UsageError
from parcade.cli.terminal import drop_output
from parcade.config.other_names import our_name, our_verb
from parcade.errors import ParcadeError, UserError
from parcade.host.address_space import check_address_space, shortage
from parcade.host.interrupts import interrupt
from parcade.host.stuck_watch import stuck_watch

VERBS = {
    "train": "train an agent",
    "resume": "continue an interrupted run exactly",
    "scale": "give a running training more or fewer workers",
    "tune": "measure how many games, workers and threads suit this machine",
    "eval": "evaluate a trained model on unseen seeds",
    "replay": "play a kept episode of a run again, check or film it",
    "record": "record episodes of a model or a bot, for cloning",
    "demos": "list, check and film recorded episodes",
    "starts": "list the starts that a training's archive has found",
    "watch": "watch trainings in a browser, while they run and after",
    "export": "write a model for ONNX, TorchScript or Stable-Baselines3",
    "sweep": "try many settings and keep the best",
    "runs": "list runs, find some, delete some",
    "compare": "compare runs over seeds: scores, curves, settings",
    "play": "play a game yourself, in a window",
    "config": "print the merged settings, or the schema for editors",
    "check": "check an env, a title or a config file before a training",
    "guide": "check or write a guide: milestones of your own for a game",
    "games": "list the titles and what each needs",
    "doctor": "check what is installed and what is missing",
    "inspect": "find the memory addresses of your own game",
    "completion": "print a completion script for your shell",
    "bench": "measure speed against the machine's limit and other libraries",
}
_NEEDS = {
    "check": " WHAT",
    **dict.fromkeys(("resume", "replay", "starts", "watch"), " [RUN]"),
    "scale": " [RUN] --n-workers N",
    "bench": " WHAT",
    "guide": " WHAT",
    "record": " FILE",
    "demos": " FILE",
    "export": " --model FILE --to FORMAT --out FILE",
    "sweep": " FILE",
    "runs": " [FOLDER …]",
    "compare": " RUN …",
    "completion": " SHELL",
}
LEARNING = ("train", "tune", "resume", "eval", "record", "export", "sweep", "bench")  # they load torch
WITH_TORCH_MB, WITHOUT_MB = 1_400, 500  # of address space that the libraries alone take
_DESCRIPTION = """Train agents on console games and Gymnasium envs, many games at once.

  parcade train                      the built-in Game Boy game, learned in a minute
  parcade train --env-id CartPole-v1 any Gymnasium env
  parcade eval --model results/lantern/<run>/models/best_model.zip --video
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 is success, 1 a failed run, 2 bad input, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP."""
    if argv is not None:
        return _run(list(argv))
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # `nohup` and the like have it ignored
        signal.signal(signal.SIGINT, interrupt)
    try:
        with stuck_watch():
            return _run(sys.argv[1:])
    except KeyboardInterrupt:  # before or after what _run guards
        return 130
    finally:  # a program that is over: one more Ctrl-C would change its exit code
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(arguments: list[str]) -> int:
    _show_warnings()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: threads that spin starve the games on few cores
    try:
        parser = _parser(arguments)
        _check_verb(arguments)
        parsed = parser.parse_args(arguments)
        if not hasattr(parsed, "run"):
            parser.print_help()
            return 0
        check_address_space(WITH_TORCH_MB if arguments[0] in LEARNING else WITHOUT_MB, f"parcade {arguments[0]}")
        code: int = parsed.run(parsed)
        sys.stdout.flush()
        return code
    except UserError as error:
        return _fail(error, 2, "--json" in arguments)
    except ParcadeError as error:
        return _fail(error, 1, "--json" in arguments)
    except KeyboardInterrupt:
        print("\nparcade: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `parcade games | head`
        drop_output()
        return 0
    except (MemoryError, ImportError, RuntimeError, OSError) as error:
        told = shortage(error)
        if told is None:
            raise
        return _fail(told, 2, "--json" in arguments)


def _show_warnings() -> None:
    """Let warnings through to the terminal, such as a worker's death; facts go to the run's log file only."""
    handler = _ToStderr()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("parcade: %(message)s"))
    logging.getLogger("parcade").handlers = [handler]


class _ToStderr(logging.StreamHandler[Any]):
    """Writes to standard error as it is at that moment: whoever calls ``main`` may have exchanged it since."""

    @property
    def stream(self) -> Any:
        return sys.stderr

    @stream.setter
    def stream(self, _: Any) -> None:
        pass


def _parser(arguments: list[str]) -> Parser:
    """Build the parser; only the wanted verb's module is imported, so that help is quick."""
    from parcade import __version__

    parser = Parser(prog="parcade", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"parcade {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", title="verbs")
    wanted = next((word for word in arguments if not word.startswith("-")), None)
    for name, text in VERBS.items():
        needs = _NEEDS.get(name, "")
        verb: Any = verbs.add_parser(name, help=text, usage=f"parcade {name}{needs} [flags]")
        if name == wanted:
            module = import_module(f"parcade.cli.{name}")
            verb.description = module.__doc__
            module.add_flags(verb)
            verb.add_argument("--json", action="store_true", help="print one line of JSON at the end")
            verb.set_defaults(run=module.run, parser=verb)
    return parser


def verb_parser(verb: str) -> argparse.ArgumentParser:
    """Return the parser of one verb, with all its flags."""
    verbs = next(action for action in _parser([verb])._actions if isinstance(action, argparse._SubParsersAction))
    found: argparse.ArgumentParser = verbs.choices[verb]
    return found


def _check_verb(arguments: list[str]) -> None:
    """Answer a verb that is none with ours for the same job."""
    if "--mode" in arguments[:1]:
        raise UsageError(f"parcade does not know --mode{our_name('--mode', ())}; `parcade --help` lists its verbs")
    if arguments and not arguments[0].startswith("-") and arguments[0] not in VERBS:
        word = arguments[0][:100]
        raise UsageError(f"parcade has no verb {word!r}{our_verb(word, VERBS)}; `parcade --help` lists its verbs")


def _fail(error: Exception, code: int, as_json: bool) -> int:
    print(f"parcade: {error}", file=sys.stderr)
    if as_json:
        print(json.dumps({"error": str(error), "exit_code": code}))
    return code


if __name__ == "__main__":
    sys.exit(main())

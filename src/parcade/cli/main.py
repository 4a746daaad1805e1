"""`parcade`: finds the verb, runs it, turns errors into one sentence and an exit code."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from parcade.cli.flags import Parser, UsageError
from parcade.cli.terminal import drop_output
from parcade.config.other_names import our_name, our_verb
from parcade.errors import ParcadeError, UserError

VERBS = {
    "train": "train an agent",
    "resume": "continue an interrupted run exactly",
    "eval": "evaluate a trained model on unseen seeds",
    "record": "record what a model sees and does, for cloning",
    "play": "play a game yourself, in a window",
    "config": "print the merged settings, or the schema for editors",
    "games": "list the titles and what each needs",
    "doctor": "check what is installed and what is missing",
    "inspect": "find the memory addresses of your own game",
    "bench": "measure speed against the machine's limit and other libraries",
}
_DESCRIPTION = """Train agents on console games and Gymnasium envs, many games at once.

  parcade train                      the built-in Game Boy game, learned in a minute
  parcade train --env-id CartPole-v1 any Gymnasium env
  parcade eval --model results/lantern/<run>/models/best_model.zip --video
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 is success, 1 a failed run, 2 bad input, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _show_warnings()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: threads that spin starve the games on few cores
    try:
        parser = _parser(arguments)
        _check_verb(arguments)
        parsed = parser.parse_args(arguments)
        if not hasattr(parsed, "run"):
            parser.print_help()
            return 0
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
        needs = {"resume": " [RUN]", "bench": " WHAT", "record": " --model FILE FILE"}.get(name, "")
        verb: Any = verbs.add_parser(name, help=text, usage=f"parcade {name}{needs} [flags]")
        if name == wanted:
            module = import_module(f"parcade.cli.{name}")
            verb.description = module.__doc__
            module.add_flags(verb)
            verb.add_argument("--json", action="store_true", help="print one line of JSON at the end")
            verb.set_defaults(run=module.run, parser=verb)
    return parser


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

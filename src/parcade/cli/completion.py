"""Print a script that completes verbs, flags and their values in your shell.

  source <(parcade completion bash)                            bash, in ~/.bashrc
  parcade completion zsh > "${fpath[1]}/_parcade"              zsh, once; then start a new shell
  parcade completion fish > ~/.config/fish/completions/parcade.fish

The script holds all words: pressing Tab does not start Python.
"""

from __future__ import annotations

import argparse
import json

SHELLS = ("bash", "zsh", "fish")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the shell."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    from parcade.cli.commands import all_commands
    from parcade.cli.completion_scripts import SCRIPTS

    script = SCRIPTS[arguments.shell](list(all_commands()))
    print(json.dumps({"shell": arguments.shell, "script": script}) if arguments.json else script, end="")
    return 0

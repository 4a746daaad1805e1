"""Watch trainings in a browser: every game, curves, maps, episodes.

  parcade watch                              all runs of results/, the running ones live
  parcade watch results/lantern/20261118-120000
  parcade watch --port 9000                  the page is at http://localhost:9000/
  parcade watch --host 0.0.0.0               other machines too; the address that is printed holds a token

It attaches to any running training and changes none of its numbers. The games draw pictures only while a page is open.
On a server without a display, forward the port: `ssh -L 8700:localhost:8700 server`.
Ctrl-C ends the page, never a training. docs/watch.md explains the page.
"""

from __future__ import annotations

import argparse
import json

from parcade.cli.flags import check_port, whole_number
from parcade.config.settings import TrainSettings


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the run and the page's address."""
    parser.add_argument("run_dir", metavar="RUN", nargs="?", help="a run's folder, or one with runs [--log-root]")
    group = parser.add_argument_group("the page")
    group.add_argument("--host", metavar="ADDRESS", help="address to serve the page at [127.0.0.1: this machine only]")
    group.add_argument("--port", type=whole_number, metavar="N", help="port of the page [the first free one from 8700]")
    group.add_argument(
        "--allow-host", action="append", metavar="NAME", help="another name of this server, such as that of a proxy"
    )
    group.add_argument("--token", action="store_true", help="ask for a token on this machine too")

    default = TrainSettings.model_fields["log_root"].default
    parser.add_argument("--log-root", default=default, metavar="TEXT", help=f"folder of all runs [{default}]")


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from parcade.view.page.launch import check_extra

    check_port("--port", arguments.port)
    check_extra()
    from parcade.view.page.runs import runs_at
    from parcade.view.page.serve import Address, Server

    runs = runs_at(arguments.run_dir, arguments.log_root)
    names = tuple(arguments.allow_host or ())
    server = Server(runs, Address(arguments.host or "127.0.0.1", arguments.port, names, arguments.token))
    if arguments.json:
        print(json.dumps({"url": server.url}), flush=True)
    else:
        print(f"watch at {server.url}  (Ctrl-C ends the page)", flush=True)
        if not runs.all():
            print(f"{arguments.log_root} holds no run yet; one that begins appears on the page", flush=True)
    server.run()
    return 0

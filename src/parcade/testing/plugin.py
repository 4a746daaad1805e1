"""The pytest options of the contract tests.

A plugin and no conftest.py: pytest reads the options before it looks for the conftest.py of a package named with
``--pyargs``, and would not know them.
"""

from __future__ import annotations

import pytest

STEPS = 200


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what names the game under test."""
    group = parser.getgroup("parcade", "the game that parcade.testing examines")
    group.addoption("--parcade-game", metavar="NAME", help="a title, or module:Class of your own")
    group.addoption("--parcade-rom", metavar="FILE", help="the game's ROM")
    group.addoption("--parcade-state", metavar="FILE", help="a save state to start from, or a folder of them")
    group.addoption("--parcade-console", metavar="NAME", default="auto", help="auto, pyboy or mgba [auto]")
    group.addoption("--parcade-steps", metavar="N", type=int, default=STEPS, help=f"steps of an episode [{STEPS}]")

"""Flags that several benches share."""

from __future__ import annotations

import argparse

from parcade.cli.flags import whole_number
from parcade.config.settings import words


def add_game_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name a title and what its envs show."""
    parser.add_argument("--game", default="lantern", metavar="NAME", help="a title [lantern]")
    parser.add_argument("--rom", metavar="FILE", help="your ROM file")
    parser.add_argument("--state", metavar="FILE", help="save state that episodes start from")
    parser.add_argument(
        "--observation", choices=["pixels", "features", "both"], default="pixels", help="what the envs return [pixels]"
    )


def counts_from_one(text: str) -> tuple[int, ...]:
    """Read whole numbers with commas between them, 1 or more each."""
    numbers = tuple(whole_number(part) for part in words(text))
    if not numbers or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers above 0")
    return numbers


def counts_from_zero(text: str) -> tuple[int, ...]:
    """Read whole numbers with commas between them, 0 or more each."""
    numbers = tuple(whole_number(part) for part in words(text))
    if not numbers or min(numbers) < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers, 0 or more each")
    return numbers

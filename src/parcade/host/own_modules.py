"""Modules of the user's own, imported by name; one that trains or plays while it is imported is told so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

from parcade.errors import StartsWhenImportedError

_under_way: list[str] = []  # modules that are being imported, the outermost first


def import_own(name: str) -> ModuleType:
    """Import the module ``name`` of the user's own; it may raise anything."""
    with importing(name):
        return import_module(name)


@contextmanager
def importing(name: str) -> Iterator[None]:
    """Say that the module ``name`` of the user's own is imported meanwhile."""
    _under_way.append(name)
    try:
        yield
    finally:
        _under_way.pop()


def refuse_while_importing(what: str) -> None:
    """Raise StartsWhenImportedError if a module of the user's own starts ``what`` while it is imported."""
    if _under_way:
        raise StartsWhenImportedError(
            f"the module {_under_way[0]} starts {what} when it is imported; put that under "
            'if __name__ == "__main__": in it'
        )

"""The one place that knows all rooms. The package is also what ``from parcade import train`` calls."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """Importing anything from this package puts it where ``parcade.train``, the function, is looked for: be both."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return import_module("parcade.api").train(*args, **kwargs)  # by name: what users call knows more than this room


sys.modules[__name__].__class__ = _Callable

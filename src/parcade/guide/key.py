"""The key of a language model's server: read from the environment, shown to the server only."""

from __future__ import annotations

import os

from parcade.config.llm_address import check_key_variable
from parcade.errors import SettingsError

HIDDEN = "[key]"


class Key:
    """A secret; nothing that prints it shows it. An empty one is no key."""

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def __repr__(self) -> str:
        return f"Key({'set' if self._text else 'none'})"

    def __bool__(self) -> bool:
        return bool(self._text)

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled")

    @property
    def headers(self) -> dict[str, str]:
        """What tells the server who asks."""
        return {"Authorization": f"Bearer {self._text}"} if self._text else {}

    def hidden_in(self, text: str) -> str:
        """Return text without the key: a server may repeat what it was sent."""
        return text.replace(self._text, HIDDEN) if self._text else text


def read_key(name: str) -> Key:
    """Return the key that the environment variable ``name`` holds; none is fine.

    A wrong ``name`` is not repeated: it may be the key itself.
    """
    try:
        check_key_variable(name)
    except ValueError as error:
        raise SettingsError(str(error)) from None
    text = os.environ.get(name, "").strip()
    if not (text.isascii() and text.isprintable() and " " not in text):
        raise SettingsError(f"the environment variable {name} holds no key: wanted one word of plain letters")
    return Key(text)

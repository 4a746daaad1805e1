"""Who is asked: the server that the user named, or the small model of the extra."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from parcade.config.llm_address import KEY_VARIABLE
from parcade.errors import SettingsError
from parcade.guide.client import LlmClient
from parcade.guide.embedded import DEADLINE_S, check_installed, embedded_model
from parcade.guide.key import read_key

SERVER_DEADLINE_S = 120.0
LONGEST_DEADLINE_S = 3600.0


def asked_model(
    llm: str | None, model: str | None, key_variable: str = KEY_VARIABLE, seconds: float | None = None
) -> AbstractContextManager[LlmClient]:
    """Return the model for a `with`; what cannot be used is refused at once."""
    if seconds is not None and not 0 < seconds <= LONGEST_DEADLINE_S:
        raise SettingsError(f"llm_seconds is {seconds:g}, wanted more than 0 and at most {LONGEST_DEADLINE_S:g}")
    if llm is None:
        if model is not None:
            raise SettingsError("llm_model names a model of a server; add llm, the server's address")
        check_installed()
        return embedded_model(seconds or DEADLINE_S)
    if model is None:
        raise SettingsError("llm needs the model's name too: llm_model")
    return nullcontext(LlmClient(llm, model, read_key(key_variable), seconds or SERVER_DEADLINE_S))

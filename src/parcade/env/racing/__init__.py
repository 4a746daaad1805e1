"""CarRacing, the official game drawn quickly: the car (`car`), the picture (`view`, `panel`), and the env itself."""

from parcade.env.racing.env import ENV_ID, FastCarRacing, register

__all__ = ["ENV_ID", "FastCarRacing", "register"]

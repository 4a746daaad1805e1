"""CarRacing's two ids: ours to train on, drawn quickly, and Gymnasium's own, which agents are evaluated on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError

FAST_ID = "parcade/CarRacing-v3"
OFFICIAL_ID = "CarRacing-v3"
_WITHOUT_VERSION = "CarRacing"
_COST = "missed_tile_cost"  # an argument of our env, for training only
_FOR_TRAINING = (_COST, "lost_share")


class CarRacingVariants:
    """What CarRacing says of itself; the choice is ``fast`` or ``official``."""

    ids = (OFFICIAL_ID, FAST_ID, _WITHOUT_VERSION)
    own_fields: Mapping[str, str] = {_COST: FAST_ID}

    def completed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings with the id in full and the choice; a training is fast unasked."""
        env_id = OFFICIAL_ID if given["env_id"] == _WITHOUT_VERSION else given["env_id"]
        choice = given.get("racing")
        return {**given, "env_id": env_id, "racing": "fast" if choice is None else choice}

    def trained_as(self, spec: EnvSpec, choice: str | None) -> EnvSpec:
        """Return the env a training runs in; a choice that does not fit raises SettingsError."""
        if choice != "official":
            return spec.with_(env_id=FAST_ID)
        if spec.env_id == FAST_ID:
            raise SettingsError(f"env_id {FAST_ID!r} is the fast track; racing 'official' goes with {OFFICIAL_ID}")
        if spec.missed_tile_cost:
            raise SettingsError("missed_tile_cost is for the fast track; with racing 'official' set it to 0")
        return spec.with_(env_id=OFFICIAL_ID)

    def evaluated_as(self, spec: EnvSpec, choice: str) -> EnvSpec:
        """Return Gymnasium's own env, or with the choice ``fast`` ours, without what is for training only."""
        arguments = {name: value for name, value in spec.env_kwargs.items() if name not in _FOR_TRAINING}
        return spec.with_(env_id=FAST_ID if choice == "fast" else OFFICIAL_ID, env_kwargs=arguments)

    def arguments(self, spec: EnvSpec) -> dict[str, Any]:
        """Return what ours is asked for: it counts the cost itself, and draws to grey and to the wanted size."""
        if spec.env_id != FAST_ID:
            return {}
        size = {"size": spec.resize} if spec.resize and not spec.crop else {}
        cost = {_COST: spec.missed_tile_cost} if spec.missed_tile_cost else {}
        return {"grayscale": bool(spec.grayscale), **size, **cost}

    def names(self, env_id: str) -> tuple[str, ...]:
        """Return the ids that mean ``env_id``: ours is what users call CarRacing-v3."""
        return (FAST_ID, OFFICIAL_ID) if env_id == FAST_ID else (env_id,)

"""What an env is trained as and what it is evaluated as: itself for most, a variant of it where there are some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Protocol

from parcade.env.preprocessing_record import default_of, rules
from parcade.env.racing.variants import CarRacingVariants
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError, SettingsError
from parcade.game.guide import without_rewards


class Variants(Protocol):
    """One env under several Gymnasium ids, among them a quick one to train in and one to be evaluated in."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Return every id it is known by, the one users ask for first."""

    @property
    def own_fields(self) -> Mapping[str, str]:
        """Return the fields of preprocessing that no other env takes, each with the id that takes it."""

    def completed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings with the choice written down that a training makes unasked."""

    def trained_as(self, spec: EnvSpec, choice: str | None) -> EnvSpec:
        """Return the env a training runs in; a choice that does not fit raises SettingsError."""

    def evaluated_as(self, spec: EnvSpec, choice: str) -> EnvSpec:
        """Return the env its agents are evaluated in."""

    def arguments(self, spec: EnvSpec) -> dict[str, Any]:
        """Return arguments for ``gymnasium.make`` that follow from the preprocessing."""

    def names(self, env_id: str) -> tuple[str, ...]:
        """Return the ids under which users may ask for ``env_id``."""


_VARIANTS: tuple[Variants, ...] = (CarRacingVariants(),)


def completed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with what the env that they name adds to them, so that a run's config says it."""
    variants = _variants_of(given.get("env_id"))
    return dict(given) if variants is None else variants.completed(given)


def trained_as(spec: EnvSpec, choice: str | None) -> EnvSpec:
    """Return the env a training runs in; ``choice`` is the setting ``racing``, None where the user made none."""
    variants = _variants_of(spec.env_id)
    if variants is not None:
        return variants.trained_as(spec, choice)
    if choice is not None:
        wanted = " or ".join(known.ids[0] for known in _VARIANTS)
        raise SettingsError(f"racing {choice!r} is for env_id {wanted}, not for {spec.label!r}")
    return spec


def evaluated_as(spec: EnvSpec, choice: str = "official") -> EnvSpec:
    """Return the env an agent trained in ``spec`` is evaluated in: nothing that is for training only, whole rewards.

    A guide still shows what comes next, which the policy needs; it pays nothing, so that returns are the title's own.
    """
    dropped = [name for name, rule in rules(EnvSpec).items() if rule.training_only]
    spec = spec.with_(**{part.name: default_of(part) for part in fields(EnvSpec) if part.name in dropped})
    if spec.guide is not None:
        spec = spec.with_(guide=without_rewards(spec.guide))
    variants = _variants_of(spec.env_id)
    return spec if variants is None else variants.evaluated_as(spec, choice)


def own_arguments(spec: EnvSpec) -> dict[str, Any]:
    """Return what the env itself is given of its preprocessing; a field that only another env takes raises EnvError."""
    for name, owner in ((name, owner) for known in _VARIANTS for name, owner in known.own_fields.items()):
        if getattr(spec, name) and spec.env_id != owner:
            raise EnvError(f"{name} is for {owner}, but the env is {spec.label}")
    variants = _variants_of(spec.env_id)
    return {} if variants is None else variants.arguments(spec)


def names_of(env_id: str | None) -> tuple[str | None, ...]:
    """Return every id that means ``env_id``."""
    variants = _variants_of(env_id)
    return (env_id,) if variants is None or env_id is None else variants.names(env_id)


def _variants_of(env_id: Any) -> Variants | None:
    return next((variants for variants in _VARIANTS if env_id in variants.ids), None)

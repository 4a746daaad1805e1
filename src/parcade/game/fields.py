"""What a title's named numbers mean: the words that conditions, guides and language models use for its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

Read = Callable[[Any], float]


@dataclass(frozen=True, slots=True)
class FieldMeaning:
    """One number of a title's state, or of an episode's record.

    ``read`` returns it from the state, or ``count`` from the record; without either it is the state's attribute of the
    field's name. Neither may fail, whatever memory holds. ``values`` are the names of a choice's numbers.
    """

    words: str
    low: float = 0
    high: float = 255
    kind: str = "number"  # number, flag (0 or 1) or choice
    values: Mapping[str, float] = field(default_factory=dict)
    read: Read | None = None
    count: Read | None = None

    def reader(self, name: str) -> Read:
        """Return what reads this field, called ``name``, from a state (or a record, where ``count`` is given)."""
        return self.count or self.read or attrgetter(name)

    @property
    def range(self) -> str:
        """The numbers it may have, in words.

        >>> FieldMeaning("half hearts", 0, 6).range
        '0 to 6'
        """
        return f"{self.low:g} to {self.high:g}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for people and language models."""
        told: dict[str, Any] = {"words": self.words, "kind": self.kind, "low": self.low, "high": self.high}
        return {**told, "values": dict(self.values)} if self.values else told


def number(words: str, low: float = 0, high: float = 255, read: Read | None = None) -> FieldMeaning:
    """Return the meaning of a number of the state."""
    return FieldMeaning(words, low, high, read=read)


def flag(words: str, read: Read | None = None) -> FieldMeaning:
    """Return the meaning of a fact of the state that holds (1) or not (0)."""
    return FieldMeaning(words, 0, 1, "flag", read=read)


def choice(words: str, values: Sequence[str] | Mapping[str, float], read: Read | None = None) -> FieldMeaning:
    """Return the meaning of a number whose values have names: a list names those from 0 on."""
    named = values if isinstance(values, Mapping) else {name: float(index) for index, name in enumerate(values)}
    return FieldMeaning(words, min(0, *named.values()), max(255, *named.values()), "choice", named, read)


def counted(words: str, high: float, count: Read) -> FieldMeaning:
    """Return the meaning of a number that the episode's record keeps."""
    return FieldMeaning(words, 0, high, count=count)

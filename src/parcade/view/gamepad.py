"""A gamepad as buttons by name: pygame's events in, held buttons out. Knows no game."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# As most pads number their buttons under SDL; the four directions come from a hat or from the first two axes.
USUAL = {"a": 0, "b": 1, "l": 4, "r": 5, "select": 6, "start": 7}
DEAD_ZONE = 0.5  # of an axis
_AXES = (("left", "right"), ("up", "down"))


class Gamepad:
    """Follows every pad that is there or comes; ``buttons`` says which number means which button."""

    def __init__(self, pygame: Any, buttons: Mapping[str, int] | None = None) -> None:
        self._pygame, self._names = pygame, {number: name for name, number in {**USUAL, **(buttons or {})}.items()}
        self._pads: dict[int, Any] = {}  # a pad that nobody holds on to tells nothing
        self._held: dict[tuple[int, str, int], tuple[str, ...]] = {}  # pad, kind and number of a control -> buttons
        pygame.joystick.init()

    @property
    def held(self) -> set[str]:
        """The names of the buttons that are held."""
        return {name for names in self._held.values() for name in names}

    def take(self, event: Any) -> None:
        """Note what a pad tells; other events mean nothing here."""
        pygame = self._pygame
        if event.type == pygame.JOYDEVICEADDED:
            pad = pygame.joystick.Joystick(event.device_index)
            self._pads[pad.get_instance_id()] = pad
        elif event.type == pygame.JOYDEVICEREMOVED:
            self._pads.pop(event.instance_id, None)
            self._held = {key: names for key, names in self._held.items() if key[0] != event.instance_id}
        elif event.type in (pygame.JOYBUTTONDOWN, pygame.JOYBUTTONUP):
            name = self._names.get(event.button)
            is_down = event.type == pygame.JOYBUTTONDOWN and name is not None
            self._note(event, "button", event.button, (str(name),) if is_down else ())
        elif event.type == pygame.JOYHATMOTION:
            self._note(event, "hat", event.hat, _directions(event.value[0], -event.value[1]))
        elif event.type == pygame.JOYAXISMOTION and event.axis < len(_AXES):
            values = (event.value, 0.0) if event.axis == 0 else (0.0, event.value)
            self._note(event, "axis", event.axis, _directions(*values))

    def _note(self, event: Any, kind: str, number: int, names: tuple[str, ...]) -> None:
        self._held[getattr(event, "instance_id", 0), kind, number] = names


def _directions(across: float, down: float) -> tuple[str, ...]:
    """Return the directions that two numbers mean.

    >>> _directions(-1, 0.9)
    ('left', 'down')
    """
    found = []
    for value, (less, more) in zip((across, down), _AXES, strict=True):
        if abs(value) >= DEAD_ZONE:
            found.append(more if value > 0 else less)
    return tuple(found)

"""Tells viewers where a running training is: its shared files in live.json, and what it does in a small file."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcade.config.settings import TrainSettings
from parcade.env.atlas import draws_maps
from parcade.env.guide import PART, PREFIX, guide_metrics
from parcade.env.make import make_game
from parcade.env.milestones import tracked_milestones
from parcade.env.picture_file import TRAINING
from parcade.env.slot import leaf_spaces
from parcade.env.space_json import space_to_json
from parcade.env.spec import EnvSpec, Watch
from parcade.errors import EnvError
from parcade.game.base import Game
from parcade.game.guide import guide_milestones
from parcade.learn.algorithm import Algorithm
from parcade.learn.sampling import BETA_SHARPNESS
from parcade.pool.actor import Array
from parcade.pool.mapped import Field, MappedArrays, layout_to_json, plan_layout
from parcade.pool.pool import Pool
from parcade.run.directory import RunFolder
from parcade.run.live import remove_live, write_live
from parcade.train import events
from parcade.train.places import PlaceKeeper

OPENING, PLAYING, LEARNING, EVALUATING, ENDING = range(5)
PHASES = ("opening", "playing", "learning", "evaluating", "ending")
_BEGUN_BY: dict[type[Any], int] = {
    events.Started: PLAYING,
    events.Updated: PLAYING,
    events.EvaluationStarted: EVALUATING,
    events.Stopping: ENDING,
}


class Live:
    """What viewers find of a training; stands between it and its listener. No number of the run depends on viewers."""

    def __init__(self, folder: RunFolder, on_event: events.Listener | None, window: Watch | None = None) -> None:
        self._folder, self._on_event, self._window = folder, on_event, window
        self._told: MappedArrays | None = None  # before ``open`` there is nothing to look at
        self._places: PlaceKeeper | None = None  # of titles that say where their hero is
        self._n_requests = 0  # the showcase's when it was last looked at

    def open(self, pool: Pool, spec: EnvSpec, settings: TrainSettings, algorithm: Algorithm) -> None:
        """Write live.json: from now on viewers find the training. Again after it has moved to another pool."""
        self._pool, self._algorithm = pool, algorithm
        before = self._told
        phase = OPENING if before is None else int(before.arrays["phase"][0])
        self._told = MappedArrays.create(plan_layout(_told_fields(settings.n_steps, pool.n_envs)))
        life, words = f"{os.getpid()}-{time.time_ns()}", _words_of(pool, spec, settings)
        about = {
            "pid": os.getpid(),
            "life": life,
            "host": platform.node(),
            "started_s": time.time(),
            "phases": PHASES,
            "n_envs": pool.n_envs,
            "n_workers": len(pool.status["beats"]),
            "shares": [[slots.start, slots.stop] for slots in pool.shares],
            "n_steps": settings.n_steps,
            "total_timesteps": settings.total_timesteps,
            "label": spec.label,
            "metric_names": pool.metric_names,
            **words,
            "status": _shared(pool.shared_files[0]),
            "blocks": [_shared(mapped) for mapped in pool.shared_files[1:]],
            "showcase": _shared(pool.showcase.mapped),
            "told": _shared(self._told),
        }
        if self._places is not None:
            self._places.write()
        if words.get("maps") is not None:
            self._places = PlaceKeeper(self._folder.path, pool, life, words["maps"])
        self._begin(phase)
        write_live(self._folder.path, about)
        if before is not None:  # the training has moved: viewers of the old files look for the new ones
            before.close()
        if self._window is not None:
            _point_to(self._folder, self._window)

    def tell(self, event: events.Event) -> None:
        """Follow an event and pass it on."""
        if self._told is not None:
            self._note(event, self._told.arrays)
        if self._on_event is not None:
            self._on_event(event)

    def _note(self, event: events.Event, arrays: Mapping[str, Array]) -> None:
        if isinstance(event, events.Playing):
            arrays["env_steps"][0] = event.env_steps
        elif isinstance(event, events.Updated):
            arrays["env_steps"][0] = event.row["env_steps"]
            self._show_values(arrays["values"])
            if self._places is not None:
                self._places.look()
        phase = _BEGUN_BY.get(type(event))
        if phase is not None:
            self._begin(phase)

    def learning(self) -> None:
        """Say that the games wait for an update."""
        self._begin(LEARNING)

    def _begin(self, phase: int) -> None:
        if self._told is not None:
            self._told.arrays["phase"][0], self._told.arrays["since_s"][0] = phase, time.time()

    def _show_values(self, shown: Array) -> None:
        """Lay down what the learner expected of the last rollout's observations, if somebody has looked since."""
        n_requests = int(self._pool.showcase.arrays["n_requests"][0])
        values = self._algorithm.values
        if values is not None and n_requests != self._n_requests:
            shown[...] = values[:-1]
        self._n_requests = n_requests

    def keep_places(self) -> None:
        """Write where the games were, while the pool still knows."""
        if self._places is not None:
            self._places.write()

    def close(self) -> None:
        """Say that the training is over; twice is fine."""
        self.keep_places()
        self._places = None
        remove_live(self._folder.path)
        if self._told is not None:
            self._told.close()
            self._told = None


def _point_to(folder: RunFolder, window: Watch) -> None:
    """Tell a window which training it shows."""
    told = {"run": str(folder.path.resolve()), "every": window.every, "raw": window.raw}
    with contextlib.suppress(OSError):  # it was closed already
        Path(window.folder, TRAINING).write_text(json.dumps(told), encoding="utf-8")


def _told_fields(n_steps: int, n_envs: int) -> list[Field]:
    return [
        Field("phase", (1,), "|u1", fill=OPENING),
        Field("since_s", (1,), "<f8", fill=0),
        Field("env_steps", (1,), "<i8", fill=0),
        Field("values", (n_steps, n_envs), "<f4"),  # of the last rollout's observations; NaN: none yet
    ]


def _shared(mapped: MappedArrays) -> dict[str, Any]:
    return {"path": str(mapped.path), "layout": layout_to_json(mapped.layout)}


def _words_of(pool: Pool, spec: EnvSpec, settings: TrainSettings) -> dict[str, Any]:
    """Return what numbers mean: the actions, what is observed, the parts of the reward."""
    told: dict[str, Any] = {
        "game": spec.game,
        "frame_skip": spec.frame_skip,
        "max_steps": spec.max_steps,
        "action_space": _action_space(pool),
        "box_policy": settings.box_policy,
        "beta_sharpness": BETA_SHARPNESS,
        "leaves": list(leaf_spaces(pool.observation_space)),
        "channels": 1 if settings.grayscale is not False else 3,
    }
    if spec.game is None:
        return told
    game, guide = make_game(spec), tracked_milestones(spec).get(PART, ())
    actions = [{"name": action.name, "buttons": list(action.buttons)} for action in game.actions]
    return told | {
        "title": game.title,
        "frame_skip": spec.frame_skip or game.frame_skip,
        "max_steps": spec.max_steps or game.max_steps,
        "actions": actions,
        "feature_names": [*game.feature_names, *_guide_names(spec)],
        "field_words": {name: meaning.words for name, meaning in game.fields.items()},
        "maps": _maps_of(spec, game),
        "reward_parts": [*game.reward_weights, *([PART] if guide else [])],
    }


def _guide_names(spec: EnvSpec) -> list[str]:
    """Return what each feature of a guide is called; a place that a coach has left free has its number."""
    if spec.guide is None:
        return []
    guided = guide_milestones(spec.guide, make_game(spec))
    named = [f"{PREFIX}{one.name}" for one in guided]
    return [*named, *guide_metrics(spec.guide, guided)[len(named) :]]


def _maps_of(spec: EnvSpec, game: Game[Any, Any]) -> str | None:
    """Return where pictures of maps come from: the title draws them, they are put together as seen, or none."""
    if type(game).place is Game.place:
        return None
    if draws_maps(spec):
        return "drawn"
    return "plain" if type(game).screen_place is Game.screen_place else "seen"


def _action_space(pool: Pool) -> dict[str, Any] | None:
    try:
        return space_to_json(pool.action_space)
    except EnvError:
        return None

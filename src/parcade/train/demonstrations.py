"""Demonstrations: recorded episodes played again, to see what their player saw as the training sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parcade.env.fingerprint import fingerprint
from parcade.env.judged import names_of
from parcade.env.make import make, make_game
from parcade.env.recorded import recorded_spec
from parcade.env.replay import EpisodeReplay, differences
from parcade.env.slot import WHOLE
from parcade.env.spec import EnvSpec
from parcade.errors import EpisodeFileError
from parcade.learn.imitation import Demonstrations
from parcade.learn.sampling import Sampler
from parcade.pool.actor import Array
from parcade.run.episodes import EpisodeRecord, present_version, read_episodes

Progress = Callable[[int, int], None]  # steps played so far, and of how many
# What a training sees of an env; all else is as in the demonstration, so that it replays.
_SEEING = ("observation", "guide", "visited", "frames_stack", "grayscale", "picture_size", "crop", "resize")
_TELL_EVERY = 64  # steps
_NAMED = ("rom", "imports", "env_kwargs", "factory", "registered")  # what a file alone is not trusted for


def load_demos(path: str | Path) -> list[EpisodeRecord]:
    """Return the demonstrations of a file that `parcade play --record` or `parcade record` wrote."""
    found = [record for record in read_episodes(path) if record.length]
    if not found:
        raise EpisodeFileError(f"{path} holds no episode with a step in it; record another")
    return found


def observations_of(
    record: EpisodeRecord,
    spec: EnvSpec,
    where: str = "the demonstration",
    on_step: Callable[[], None] | None = None,
) -> dict[str, Array]:
    """Return what an env of ``spec`` shows before each step of a demonstration, (length, ...) by leaf name.

    The episode is played again and compared with what was recorded. One of another game, ROM or pace, or one that does
    not replay, raises EpisodeFileError.
    """
    seen = seen_spec(record, spec, where)
    replay = EpisodeReplay(make(seen), record, where, info_keys=seen.info_keys, draws=False)
    with replay:
        rows = {leaf: np.empty((record.length, *row.shape), row.dtype) for leaf, row in replay.rows.items()}
        for step in range(record.length):
            for leaf, row in replay.rows.items():
                rows[leaf][step] = row
            if not replay.step():
                break
            if on_step is not None:
                on_step()
        told = differences(replay, with_guide=seen.guide == record.origin.env.get("guide"))
    if told:
        theirs, ours = record.origin.parcade, present_version()
        version = f"it was recorded with Parcade {theirs}, this is {ours}" if theirs != ours else "its env has changed"
        raise EpisodeFileError(f"{where} does not replay: {told[0]}; {version}: record it again")
    return rows


def seen_spec(record: EpisodeRecord, spec: EnvSpec, where: str) -> EnvSpec:
    """Return the env of a demonstration with the eyes of a training in ``spec``."""
    origin = record.origin
    theirs = origin.env.get("game") or origin.env.get("env_id")
    if spec.factory is None and theirs not in (*names_of(spec.env_id), spec.game):
        raise EpisodeFileError(f"{where} was played in {theirs}, but the training is in {spec.label}")
    named = {name: getattr(spec, name) for name in _NAMED if getattr(spec, name)}
    named |= {"env_id": origin.env.get("env_id")} if ":" in (spec.env_id or "") else {}
    named |= {"game": spec.game} if ":" in (spec.game or "") else {}
    if origin.state_sha1 is not None and spec.state is not None and fingerprint(spec.state) == origin.state_sha1:
        named["state"] = spec.state
    own = recorded_spec(record, where, named)
    for name in ("frame_skip", "action_scale"):
        mine, other = _setting(spec, name), _setting(own, name)
        if mine != other:
            raise EpisodeFileError(f"{where} was played with {name} {other}, but the training has {mine}; use the same")
    return own.with_(**{name: getattr(spec, name) for name in _SEEING}, render=False)


def _setting(spec: EnvSpec, name: str) -> Any:
    value = getattr(spec, name)
    if name != "frame_skip" or value is not None:
        return value
    return make_game(spec).frame_skip if spec.game is not None else 1


def demonstrations_for(
    records: Sequence[EpisodeRecord], spec: EnvSpec, sampler: Sampler, where: str, on_progress: Progress | None = None
) -> Demonstrations:
    """Return all steps of the demonstrations as cloning takes them."""
    total, done = sum(record.length for record in records), 0

    def count() -> None:
        nonlocal done
        done += 1
        if on_progress is not None and (done % _TELL_EVERY == 0 or done == total):
            on_progress(done, total)

    seen = [observations_of(record, spec, where, count) for record in records]
    obs = {leaf: np.concatenate([part[leaf] for part in seen]) for leaf in seen[0]}
    taken = np.concatenate([record.actions[WHOLE] for record in records])
    return Demonstrations(obs, sampler.from_env(taken))

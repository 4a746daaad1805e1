"""Kept episodes of a run, found by name or number, played again, checked and filmed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parcade.env.replay import EpisodeReplay, differences, open_replay
from parcade.errors import EpisodeFileError, did_you_mean
from parcade.host.wording import counted
from parcade.run.directory import RunFolder
from parcade.run.episodes import EpisodeRecord
from parcade.run.kept_choice import BEST, FIRST, NEWEST, WORST
from parcade.run.kept_episodes import KeptIndex, file_name, read_index
from parcade.run.video import VideoFile
from parcade.train.python_env import PythonEnv, named_env

NAMES = {"best": BEST, "worst": WORST, "last": NEWEST, "first": FIRST}  # what the most interesting of a kind is called


@dataclass(frozen=True, slots=True)
class Checked:
    """One episode that was played again, and in what it differs from the recorded one."""

    episode: EpisodeRecord
    differences: tuple[str, ...]


def replay(
    run: str | Path, episode: str | int = "best", *, env: PythonEnv | None = None, render: bool = True, **named: Any
) -> EpisodeReplay:
    """Return a kept episode of a run in an env of its own, at its first moment; close it with ``with``.

    ``episode`` is best, worst, last, first, the name of a milestone, or the number of an episode. ``env`` and ``named``
    are what the run's folder alone is not trusted for, as for ``resume``.
    """
    index = read_index(RunFolder.open(run).episodes)
    number = find_episode(index, episode)
    said, factory = named_env(env)
    said.pop("env_factory", None)
    where = str(index.folder / file_name(number))
    return open_replay(index.load(number), where, {**said, **named, "factory": factory}, render=render)


def find_episode(index: KeptIndex, wanted: str | int) -> int:
    """Return the number of the episode that is meant; one that is not kept raises EpisodeFileError."""
    word = str(wanted)
    if word in NAMES:
        numbers = index.kinds[NAMES[word]]
        if numbers:
            return numbers[0]
        raise EpisodeFileError(
            f"{index.folder} keeps no episode that is the {word}; `parcade replay RUN --list` lists all"
        )
    number = int(word) if word.isdecimal() and len(word) < 18 else index.reached.get(word)
    if number in index.facts:
        return number  # type: ignore[return-value]
    if number is not None:
        raise EpisodeFileError(
            f"episode {number} is not among the {counted(len(index.facts), 'episode')} that {index.folder} keeps; "
            "`parcade replay RUN --list` lists them"
        )
    hint = did_you_mean(word, [*NAMES, *index.reached])
    raise EpisodeFileError(
        f"{index.folder} keeps no episode {word!r}{hint}; wanted a number, {', '.join(NAMES)}, or a milestone that was "
        f"reached: {', '.join(index.reached) or 'none yet'}"
    )


def check_episode(record: EpisodeRecord, where: str, named: dict[str, Any]) -> Checked:
    """Play an episode again, without pictures, and compare it with what was recorded."""
    with open_replay(record, where, named, render=False) as played:
        return Checked(record, tuple(differences(played)))


def film_replays(records: Iterable[EpisodeRecord], where: str, named: dict[str, Any], path: Path) -> int:
    """Write a video of episodes one after the other at the games' own speed; return how many pictures it has."""
    video: VideoFile | None = None
    try:
        for record in records:
            with open_replay(record, where, named) as played:
                first = played.picture()
                video = video or _video(path, first, 1.0 / played.step_s)
                video.append(first)
                while played.step():
                    video.append(played.picture())
    except BaseException:
        if video is not None:
            video.discard()
        raise
    assert video is not None
    video.close()
    return video.n_frames


def _video(path: Path, first: Any, fps: float) -> VideoFile:
    return VideoFile(path, (first.shape[0], first.shape[1]), fps, scale=max(1, 480 // first.shape[0]))

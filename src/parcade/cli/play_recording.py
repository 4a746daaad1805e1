"""Recorded play: what a person does, in the title's own actions, so that it can be played again and learned from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from parcade.cli.play_session import PlaySession
from parcade.errors import EpisodeFileError, UserError
from parcade.host.wording import counted

if TYPE_CHECKING:
    from parcade.env.console_env import ConsoleEnv
    from parcade.run.episodes import EpisodeOrigin, EpisodeRecord


class RecordingSession(PlaySession):
    """A session in which every step is one of the title's actions, held for all frames of a step as in training.

    The file is written anew whenever an episode ends. An attempt that is begun again is dropped.
    """

    is_recording = True

    def __init__(self, env: ConsoleEnv, origin: EpisodeOrigin, file: Path, folder: Path, seed: int) -> None:
        from parcade.env.slot import fresh_rows

        self._env, self._origin, self._file = env, origin, file
        self._rows = fresh_rows(env.observation_space)
        self.records = self._there_already()
        self.n_before = len(self.records)
        super().__init__(env.console, env.game, folder, seed + self.n_before)
        self.restart()

    def _there_already(self) -> list[EpisodeRecord]:
        """Return the episodes of a file that is there already; those of another game are not mixed with these."""
        from parcade.run.episodes import read_episodes

        if not self._file.exists():
            return []
        found = read_episodes(self._file)
        if found[0].origin != self._origin:
            raise EpisodeFileError(
                f"{self._file} holds episodes of another game, ROM, version or player, or with other settings; "
                "give another file"
            )
        return found

    def restart(self) -> str:
        """Begin the episode, or begin it again; return what to say."""
        dropped = bool(self._steps)
        self._env.begin(self._seed, self._rows)
        self._taken: list[int] = []
        self._frame_masks: list[int] = []
        self._action, self._pressed = 0, 0
        self._return = 0.0
        self._begin()
        return "the attempt is dropped, the episode begins again" if dropped else "recording an episode"

    def load(self) -> bool:
        """Refuse: an episode is played from its beginning."""
        raise UserError("a state cannot be loaded while an episode is recorded; R begins it again")

    def advance(self, held: int) -> None:
        """Play one frame of the present step; at its beginning the person's buttons choose the action.

        A button that was pressed and released within a step counts for the next one.
        """
        self._pressed = held or self._pressed
        if not self._frame_masks:
            action = self._env.nearest_action(held or self._pressed)
            if action is None:
                return  # a title without an action for no button waits for one
            self._action, self._frame_masks, self._pressed = action, self._env.frame_masks(action), 0
        self.held = self._frame_masks.pop(0)
        self.console.advance(self.held, 1)
        self.frames += 1
        if not self._frame_masks:
            self._end_step()

    def _end_step(self) -> None:
        reward, terminated, truncated = self._env.observe(self._rows)
        self._return += reward
        self._taken.append(self._action)
        self._steps, self._state = self._steps + 1, self._env.state
        for part, value in self._env.weighted_parts().items():
            self._totals[part] = self._totals.get(part, 0.0) + value
        if terminated or truncated:
            self._keep(terminated, truncated)
            how = "over" if terminated else "at its limit of steps"
            self.note = f"the episode is {how}: return {self._return:.2f}; recording the next one"
            self._seed += 1
            self._steps = 0
            self.restart()

    def _keep(self, terminated: bool, truncated: bool) -> None:
        import numpy as np

        from parcade.env.recorded import metrics_now
        from parcade.env.slot import WHOLE
        from parcade.run.episodes import EpisodeRecord, compact, write_episodes

        actions, metrics = compact({WHOLE: np.array(self._taken)}), metrics_now(self._env)
        length = len(self._taken)
        self.records.append(
            EpisodeRecord(self._origin, self._seed, actions, length, self._return, terminated, truncated, metrics)
        )
        try:
            write_episodes(self._file, self.records)
        except OSError as error:
            raise UserError(f"the episodes cannot be written to {self._file}: {error.strerror}") from None

    def close(self) -> str:
        """Keep the episode under way as far as it was played; return what to say."""
        if self._taken:
            self._keep(False, False)
            self._taken = []
        recorded = len(self.records) - self.n_before
        if not recorded:
            return f"nothing was played, so {self._file} is not written"
        steps = sum(record.length for record in self.records[self.n_before :])
        return (
            f"{counted(recorded, 'episode')} ({counted(steps, 'step')}) are in {self._file}; "
            f"learn from them with `parcade train --algorithm cloning --demos {self._file}`"
        )

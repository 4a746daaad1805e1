"""Airstriker, the free Mega Drive shooter that stable-retro carries: a title of another console than the Game Boys."""

from __future__ import annotations

from typing import NamedTuple

from parcade.console.base import Console, Memory
from parcade.game.base import Action, Features, Game, write_features
from parcade.game.boot import idle
from parcade.game.fields import counted, flag, number
from parcade.game.milestone import Milestone

SCORE, LIVES, GAME_OVER = 0xFF024E, 0xFF025A, 0xFF0266  # stable-retro's data.json of Airstriker-Genesis-v0
FULL_LIVES = 3


class AirstrikerState(NamedTuple):
    """What counts in this game."""

    score: int
    lives: int
    ended: bool


class Airstriker(Game[AirstrikerState, dict[str, int]]):
    """Shoot what comes; the score is the reward. Nearly all there is to see is in the picture."""

    name = "airstriker"
    title = "Airstriker"
    system = "genesis"
    retro_rom = "Airstriker-Genesis-v0"
    actions = (
        Action("wait"),
        Action("fire", ("b",), tap=True),
        Action("left", ("left",)),
        Action("right", ("right",)),
        Action("left_fire", ("left", "b")),
        Action("right_fire", ("right", "b")),
    )
    feature_names = ("lives", "score")
    metric_names = ("score", "lives")
    reward_weights = {"score": 0.05, "life": -1.0}
    fields = {
        "score": number("the score; the game clears it when it is over", 0, 2**32 - 1),
        "lives": number("lives left", 0, 65535),
        "ended": flag("the game is over"),
        "best_score": counted("the highest score of the episode", 2**32 - 1, lambda progress: progress["score"]),
    }
    milestones = (
        Milestone("first_hit", "best_score > 0", "something was shot"),
        Milestone("score_100", "best_score >= 100", "100 points", ("first_hit",)),
        Milestone("score_500", "best_score >= 500", "500 points", ("score_100",)),
        Milestone("score_1000", "best_score >= 1000", "1,000 points", ("score_500",)),
    )
    max_steps = 3000
    training = {"observation": "pixels", "frames_stack": 2}

    def start(self, console: Console, seed: int) -> None:
        """Wait a moment told by the seed; the start state is stable-retro's own, at the first level."""
        idle(console, seed)

    def read(self, memory: Memory) -> AirstrikerState:
        """Return score and lives; the machine is big-endian."""
        lives = int.from_bytes(memory.read(LIVES, 2), "big")
        ended = int.from_bytes(memory.read(GAME_OVER, 2), "big") == 1
        return AirstrikerState(int.from_bytes(memory.read(SCORE, 4), "big"), lives, ended)

    def begin(self, state: AirstrikerState) -> dict[str, int]:
        """Return the best score so far: the game clears it when it is over."""
        return {"score": state.score}

    def reward(self, progress: dict[str, int], before: AirstrikerState, after: AirstrikerState) -> dict[str, float]:
        """Return points and lost lives."""
        parts: dict[str, float] = {}
        if after.score > progress["score"]:
            parts["score"] = after.score - progress["score"]
            progress["score"] = after.score
        if after.lives < before.lives:
            parts["life"] = before.lives - after.lives
        return parts

    def over(self, state: AirstrikerState, progress: dict[str, int]) -> bool:
        """True when no life is left and the game says so."""
        return state.ended and state.lives == 0

    def features(self, state: AirstrikerState, progress: dict[str, int], out: Features) -> None:
        """Write lives and score; to play, look at the picture (``observation`` pixels)."""
        write_features((state.lives / FULL_LIVES, min(progress["score"], 2000) / 1000 - 1), out)

    def metrics(self, progress: dict[str, int], state: AirstrikerState) -> dict[str, float]:
        """Return the score; the game has no end that would be a success."""
        return {"score": progress["score"], "lives": state.lives}

    def describe(self, state: AirstrikerState) -> str:
        """Return score and lives; all else is in the picture."""
        return f"Score {state.score}, lives {state.lives}{', the game is over' if state.ended else ''}."

"""CarRacing as Gymnasium plays it, drawn in a new way and only when looked at.

`FastCarRacing` is the official env: physics, track generator, rewards and endings are its
code or equal it to the last bit, so an episode of the same seed and actions is the same.
Only the picture is drawn anew (`view`), close to the original but not equal to it.
"""

# mypy: allow-untyped-calls
# (Gymnasium's CarRacing has few annotations.)

from __future__ import annotations

import math
from functools import cache
from typing import Any

import Box2D
import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.envs.box2d.car_racing import (
    FPS,
    PLAYFIELD,
    STATE_H,
    STATE_W,
    TRACK_WIDTH,
    CarRacing,
    FrictionDetector,
)
from gymnasium.error import InvalidAction
from gymnasium.utils import EzPickle

from parcade.env.racing.car import FastCar
from parcade.env.racing.view import View
from parcade.errors import EnvError

WHEELBASE = 5  # tiles behind a touched one that the rear wheels may still touch
FARTHEST_LOST = 2 * TRACK_WIDTH  # from the middle of the road, which ends at TRACK_WIDTH
MOST_TURNED = 2.4  # radians: who looks straight back cannot see which way he came
MOST_MISSED = 10  # that count at once: who drives across the infield has not missed half the track

Picture = npt.NDArray[np.uint8]


@cache
def check_car_racing() -> None:
    """Refuse a Gymnasium whose CarRacing lacks a private function that is called or replaced here."""
    wanted = [(CarRacing, name) for name in ("_create_track", "_reinit_colors", "_destroy")]
    for kind, name in [*wanted, (FrictionDetector, "_contact")]:
        if not callable(getattr(kind, name, None)):
            raise EnvError(
                f"Gymnasium {gymnasium.__version__} has no {kind.__name__}.{name}, which the fast CarRacing needs; "
                "install gymnasium 1.4"
            )


class TouchDetector(FrictionDetector):
    """The official contact listener in fewer calls; it also tells the env which tiles were touched."""

    def _contact(self, contact: Any, begin: bool) -> None:
        # A contact is always between a tile and a part of the car: bodies of a kind never touch.
        tile, part = contact.fixtureA.body.userData, contact.fixtureB.body.userData
        if tile is None or "road_friction" not in tile.__dict__:
            tile, part = part, tile
        self.env.note_touched_tile(tile)
        if part is None:  # the hull touches, but only wheels count
            return
        if not begin:
            part.tiles.remove(tile)
            return
        part.tiles.add(tile)
        if not tile.road_visited:
            tile.road_visited = True
            self._visit(tile)

    def _visit(self, tile: Any) -> None:
        env = self.env
        env.reward += 1000.0 / len(env.track)
        env.tile_visited_count += 1
        env.judge_tiles_before(tile.idx)
        if tile.idx == 0 and env.tile_visited_count / len(env.track) > self.lap_complete_percent:
            env.new_lap = True


class FastCarRacing(CarRacing):
    """CarRacing-v3 with `advance` (no drawing) and `observe` (drawing).

    `step` is `advance` followed by `observe`. An episode is a function of its seed and
    actions, whatever the object was used for before. `size` is (height, width) of the
    observation; `grayscale` gives (height, width) without a channel axis. `missed_tile_cost`
    is the price of each tile that the car has driven past: `step` takes it off the reward,
    `advance` leaves the reward as it is and states it as `frame_cost`. A share `lost_share` of the episodes
    begins somewhere on the lap, with the car at rest beside the road and turned away from it: whoever never
    leaves the road in training cannot return to it.
    """

    car: Any  # a FastCar from the first reset on
    missed_tiles = 0  # tiles that were found missed in the last step; a lap ends only with all of them touched

    def __init__(
        self,
        render_mode: str | None = None,
        verbose: bool = False,
        lap_complete_percent: float = 0.95,
        domain_randomize: bool = False,
        continuous: bool = True,
        grayscale: bool = False,
        size: tuple[int, int] = (STATE_H, STATE_W),
        missed_tile_cost: float = 0.0,
        lost_share: float = 0.0,
    ) -> None:
        if not 0.0 <= lost_share <= 1.0:
            raise EnvError(f"CarRacing's lost_share is {lost_share}, wanted a share from 0 to 1")
        check_car_racing()
        super().__init__(render_mode, verbose, lap_complete_percent, domain_randomize, continuous)
        EzPickle.__init__(
            self,
            render_mode,
            verbose,
            lap_complete_percent,
            domain_randomize,
            continuous,
            grayscale,
            size,
            missed_tile_cost,
            lost_share,
        )
        self._missed_tile_cost, self._lost_share = missed_tile_cost, lost_share
        shape = tuple(size) if grayscale else (*size, 3)
        self.observation_space = spaces.Box(low=0, high=255, shape=shape, dtype=np.uint8)
        self.lap_finished: bool | None = None
        self._touched_tiles: set[int] = set()
        self._tiles_to_repaint: list[int] = []
        self._shown_score = 0.0
        self._view = View(*size, grayscale)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Picture, dict[str, Any]]:
        """Start an episode on a new track and return its first picture."""
        gymnasium.Env.reset(self, seed=seed)
        self._new_world()
        self.reward = 0.0
        self.prev_reward = 0.0
        self.tile_visited_count = 0
        self.missed_tiles = self._next_to_judge = 0
        self.t = 0.0
        self.new_lap = False
        self.lap_finished = None
        self.road_poly: list[Any] = []
        if self.domain_randomize:
            self._reinit_colors((options or {}).get("randomize", True))
        while not self._create_track():
            pass
        self._paint_ground()
        is_lost = self._lost_share > 0.0 and self.np_random.random() < self._lost_share
        self.car = FastCar(self.world, *(self._lose_the_way() if is_lost else self.track[0][1:4]))
        self._move()  # as the original, which makes one step without an action
        if self.render_mode == "human":
            self.render()
        return self.observe(), {}

    def step(self, action: Any) -> tuple[Picture, float, bool, bool, dict[str, Any]]:
        """Do as the official `step` does."""
        reward, terminated, truncated = self.advance(action)
        info = {} if self.lap_finished is None else {"lap_finished": self.lap_finished}
        if self.render_mode == "human":
            self.render()
        return self.observe(), reward - self.frame_cost, terminated, truncated, info

    @property
    def frame_cost(self) -> float:
        """What the last frame costs beside its reward."""
        return self._missed_tile_cost * self.missed_tiles

    def advance(self, action: Any) -> tuple[float, bool, bool]:
        """Make one step without drawing; return reward, terminated, truncated."""
        self.missed_tiles = 0
        self._control(action)
        self._move()
        self.reward -= 0.1
        self.car.fuel_spent = 0.0
        reward = self.reward - self.prev_reward
        self.prev_reward = self.reward
        terminated = False
        if self.tile_visited_count == len(self.track) or self.new_lap:
            terminated, self.lap_finished = True, True
        position = self.car.hull.position
        if abs(position.x) > PLAYFIELD or abs(position.y) > PLAYFIELD:
            terminated, self.lap_finished, reward = True, False, -100.0
        return reward, terminated, False

    def judge_tiles_before(self, touched: int) -> None:
        """Count the tiles well behind a newly touched one that no wheel has touched: they are missed in this lap."""
        road: Any = self.road
        n_tiles = len(road)
        ahead = (touched - self._next_to_judge) % n_tiles
        if ahead > n_tiles // 2:
            return  # it lies behind the car
        for _ in range(ahead - WHEELBASE):
            if not road[self._next_to_judge].road_visited:
                self.missed_tiles = min(self.missed_tiles + 1, MOST_MISSED)
            self._next_to_judge = (self._next_to_judge + 1) % n_tiles

    def observe(self, out: Picture | None = None) -> Picture:
        """Draw the present into `out`, or into a new array, and return it."""
        for tile in self._tiles_to_repaint:
            self._view.ground.repaint(tile, self.road_color)
        self._tiles_to_repaint.clear()
        picture = self._view.draw(self.car, self.t, self._shown_score)
        if out is None:
            return picture.copy()
        out[...] = picture
        return out

    def note_touched_tile(self, tile: Any) -> None:
        """Give the tile the plain road colour, which it takes when first touched."""
        if tile.idx not in self._touched_tiles:
            self._touched_tiles.add(tile.idx)
            self._tiles_to_repaint.append(tile.idx)
            tile.color[:] = self.road_color

    def close(self) -> None:
        """Free the window, the world and its bodies; twice is fine."""
        super().close()
        self._destroy()

    def _lose_the_way(self) -> tuple[float, float, float]:
        """Let the lap be driven up to some tile; return an angle and a place beside that tile."""
        road: Any = self.road
        tile = int(self.np_random.integers(len(road)))
        for driven in road[:tile]:
            driven.road_visited = True
            self.note_touched_tile(driven)
        self.tile_visited_count = self._next_to_judge = tile
        self.t = 1.0  # the camera has come down, as it has in the middle of a lap
        _, along, x, y = self.track[tile]
        aside = self.np_random.uniform(-FARTHEST_LOST, FARTHEST_LOST)
        angle = along + self.np_random.uniform(-MOST_TURNED, MOST_TURNED)
        return angle, x + aside * math.cos(along), y + aside * math.sin(along)

    def _control(self, action: Any) -> None:
        if self.continuous:
            self.car.steer(-float(action[0]))
            self.car.gas(float(action[1]))
            self.car.brake(float(action[2]))
            return
        if not self.action_space.contains(action):
            raise InvalidAction(
                f"you passed the invalid action `{action}`. The supported action_space is `{self.action_space}`"
            )
        self.car.steer(-0.6 * (action == 1) + 0.6 * (action == 2))
        self.car.gas(0.2 * (action == 3))
        self.car.brake(0.8 * (action == 4))

    def _move(self) -> None:
        self.car.step(1.0 / FPS)
        self.world.Step(1.0 / FPS, 6 * 30, 2 * 30)
        self.t += 1.0 / FPS
        self._shown_score = self.reward  # the original draws before it takes the 0.1 per step away

    def _new_world(self) -> None:
        """Leave the old world and make an empty one.

        A reused world numbers its fixtures by what was freed before, and contacts are
        reported in that order; only a new one makes an episode independent of the past.
        The old bodies are destroyed first: each is its own user data, a reference the
        world would never drop.
        """
        self._destroy()
        self.contactListener_keepref = TouchDetector(self, self.lap_complete_percent)
        self.world = Box2D.b2World((0, 0), contactListener=self.contactListener_keepref)

    def _destroy(self) -> None:
        self.world.contactListener = None
        super()._destroy()
        self.road = None

    def _paint_ground(self) -> None:
        self._view.ground.paint(self.road_poly, self.bg_color, self.grass_color)
        self._touched_tiles.clear()
        self._tiles_to_repaint.clear()

"""The car of CarRacing, moved with less Python: every number stays bit-identical.

`FastCar` is Gymnasium's `Car` with two parts written anew: how it is built (its fixture
definitions are made once per process) and how its wheels are moved (plain floats instead
of NumPy scalars). The order of the float operations is that of the original, because the
contract is equality to the last bit, not closeness.
"""

# mypy: allow-untyped-calls
# (Gymnasium's Car has few annotations.)

from __future__ import annotations

import functools
import math
from collections import deque
from typing import Any

from Box2D.b2 import fixtureDef, polygonShape, revoluteJointDef
from gymnasium.envs.box2d.car_dynamics import (
    ENGINE_POWER,
    FRICTION_LIMIT,
    HULL_POLY1,
    HULL_POLY2,
    HULL_POLY3,
    HULL_POLY4,
    SIZE,
    WHEEL_COLOR,
    WHEEL_MOMENT_OF_INERTIA,
    WHEEL_R,
    WHEEL_W,
    WHEELPOS,
    Car,
)

HULL_POLYGONS = (HULL_POLY1, HULL_POLY2, HULL_POLY3, HULL_POLY4)
WHEEL_POLYGON = ((-WHEEL_W, WHEEL_R), (WHEEL_W, WHEEL_R), (WHEEL_W, -WHEEL_R), (-WHEEL_W, -WHEEL_R))

GRASS_FRICTION_LIMIT = FRICTION_LIMIT * 0.6
FORCE_PER_SLIP = 205000 * SIZE * SIZE
BRAKE_FORCE = 15  # radians per second
MOST_STEPS_IN_A_SKID = 30


@functools.cache
def _fixtures() -> tuple[list[Any], Any]:
    """The fixture definitions of the hull and of a wheel.

    Made once, because a b2FixtureDef never frees the copy of its shape: the original
    makes eight per reset and so loses about 2.5 KB of memory every episode.
    """

    def polygon(points: Any) -> Any:
        return polygonShape(vertices=[(x * SIZE, y * SIZE) for x, y in points])

    hull = [fixtureDef(shape=polygon(points), density=1.0) for points in HULL_POLYGONS]
    wheel = fixtureDef(
        shape=polygon(WHEEL_POLYGON),
        density=0.1,
        categoryBits=0x0020,
        maskBits=0x001,
        restitution=0.0,
    )
    return hull, wheel


class FastCar(Car):
    """A `Car` that moves exactly as the original does, in half the time."""

    def __init__(self, world: Any, init_angle: float, init_x: float, init_y: float) -> None:
        # Car.__init__ is not called: it would make the leaking fixture definitions.
        hull_fixtures, _ = _fixtures()
        self.world = world
        self.hull = world.CreateDynamicBody(position=(init_x, init_y), angle=init_angle, fixtures=hull_fixtures)
        self.hull.color = (0.8, 0.0, 0.0)
        self.fuel_spent = 0.0
        self.wheels = [self._add_wheel(init_angle, init_x, init_y, at) for at in WHEELPOS]
        self.drawlist = [*self.wheels, self.hull]
        self.particles = deque(maxlen=30)

    def _add_wheel(self, angle: float, x: float, y: float, at: tuple[int, int]) -> Any:
        _, wheel_fixture = _fixtures()
        wheel = self.world.CreateDynamicBody(
            position=(x + at[0] * SIZE, y + at[1] * SIZE), angle=angle, fixtures=wheel_fixture
        )
        wheel.wheel_rad = WHEEL_R * SIZE
        wheel.color = WHEEL_COLOR
        wheel.gas = wheel.brake = wheel.steer = wheel.phase = wheel.omega = 0.0
        wheel.skid_start = wheel.skid_particle = None
        wheel.joint = self.world.CreateJoint(
            revoluteJointDef(
                bodyA=self.hull,
                bodyB=wheel,
                localAnchorA=(at[0] * SIZE, at[1] * SIZE),
                localAnchorB=(0, 0),
                enableMotor=True,
                enableLimit=True,
                maxMotorTorque=180 * 900 * SIZE * SIZE,
                motorSpeed=0,
                lowerAngle=-0.4,
                upperAngle=+0.4,
            )
        )
        wheel.tiles = set()
        wheel.userData = wheel
        return wheel

    def gas(self, gas: float) -> None:
        """Press the gas pedal, 0 to 1; the rear wheels drive."""
        gas = min(max(gas, 0.0), 1.0)
        for wheel in self.wheels[2:4]:
            wheel.gas += min(gas - wheel.gas, 0.1)  # rises slowly, falls at once

    def step(self, dt: float) -> None:
        """Turn the wheels by `dt` seconds and push the car by their friction; the world then moves it."""
        engine = dt * ENGINE_POWER
        for wheel in self.wheels:
            _steer(wheel)
            self.fuel_spent += engine * wheel.gas
            omega = _spin(wheel, engine)
            wheel.phase += omega * dt

            # GetWorldVector((0, 1)) is this vector turned by a right angle, exactly.
            side = wheel.GetWorldVector((1, 0))
            side_x, side_y = side.x, side.y
            velocity = wheel.linearVelocity
            v_x, v_y = velocity.x, velocity.y
            forward_speed = -side_y * v_x + side_x * v_y
            side_speed = side_x * v_x + side_y * v_y

            forward_force = (-forward_speed + omega * wheel.wheel_rad) * FORCE_PER_SLIP
            side_force = -side_speed * FORCE_PER_SLIP
            force = math.sqrt(forward_force * forward_force + side_force * side_force)
            # Every tile has road_friction 1.0, so touching any of them is enough.
            limit = FRICTION_LIMIT if wheel.tiles else GRASS_FRICTION_LIMIT
            self._mark_skid(wheel, force > 2.0 * limit)
            if force > limit:
                forward_force = forward_force / force * limit
                side_force = side_force / force * limit

            wheel.omega = omega - dt * forward_force * wheel.wheel_rad / WHEEL_MOMENT_OF_INERTIA
            wheel.ApplyForceToCenter(
                (
                    side_force * side_x + forward_force * -side_y,
                    side_force * side_y + forward_force * side_x,
                ),
                True,
            )

    def _mark_skid(self, wheel: Any, skids: bool) -> None:
        """Keep the skid marks, which only the large pictures for people show."""
        if not skids:
            wheel.skid_start = wheel.skid_particle = None
            return
        grass = not wheel.tiles
        trace = wheel.skid_particle
        if trace and trace.grass == grass and len(trace.poly) < MOST_STEPS_IN_A_SKID:
            trace.poly.append((wheel.position[0], wheel.position[1]))
        elif wheel.skid_start is None:
            wheel.skid_start = wheel.position
        else:
            wheel.skid_particle = self._create_particle(wheel.skid_start, wheel.position, grass)
            wheel.skid_start = None


def _steer(wheel: Any) -> None:
    joint = wheel.joint
    turn = wheel.steer - joint.angle
    speed = min(50.0 * abs(turn), 3.0)
    joint.motorSpeed = speed if turn > 0.0 else -speed


def _spin(wheel: Any, engine: float) -> float:
    """The wheel's angular velocity after engine and brake, before friction."""
    omega: float = wheel.omega
    omega += engine * wheel.gas / WHEEL_MOMENT_OF_INERTIA / (abs(omega) + 5.0)
    brake = wheel.brake
    if brake >= 0.9:
        return 0.0
    if brake > 0.0:
        slowed_by = min(BRAKE_FORCE * brake, abs(omega))
        omega -= math.copysign(slowed_by, omega)
    return omega

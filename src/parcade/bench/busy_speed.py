"""How fast a Game Boy Advance game runs whose CPU never halts: the size of a commercial game, with a ROM of our own.

Light games halt the CPU for most of a frame and run an order of magnitude faster; see roms/busy/README.md.
"""

from __future__ import annotations

import statistics
import struct
from contextlib import ExitStack
from typing import Any, NamedTuple

from parcade.bench.bare_consoles import BareProcesses, RecordedEpisode, record_episodes
from parcade.bench.env_speed import PoolContender
from parcade.bench.interleave import Contender, interleave
from parcade.bench.machine import machine
from parcade.bench.progress import Say, tell_stderr
from parcade.console.base import Memory
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.game.base import Action, Features, Game, write_features
from parcade.host.cores import usable_cores

STATE, _STATE = 0x02000000, struct.Struct("<4I")
USERS_STEPS_PER_S = (35.0, 40.0)  # what users report for one Emerald in mGBA at six frames a step
_RECORDED_STEPS = 200


class BusyState(NamedTuple):
    """What the cartridge says of itself."""

    frames: int
    searched: int  # steps of its path search: work done instead of waiting
    keys: int
    check: int


class Busy(Game[BusyState, dict[str, int]]):
    """Nothing to win: a workload with the face of a title, so that every bench can run it."""

    name = "busy"
    title = "Busy (a workload)"
    system = "gba"
    builtin_rom = "busy.gba"
    actions = (
        Action("wait"),
        *(Action(name, (name,)) for name in ("up", "down", "left", "right")),
        Action("a", ("a",), tap=True),
        Action("b", ("b",), tap=True),
    )
    feature_names = ("frames",)
    metric_names = ("frames",)
    reward_weights = {"frame": 0.0}
    frame_skip = 6

    def read(self, memory: Memory) -> BusyState:
        """Return the four words at the start of EWRAM."""
        return BusyState(*_STATE.unpack(memory.read(STATE, _STATE.size)))

    def begin(self, state: BusyState) -> dict[str, int]:
        """Return the frame the episode starts in."""
        return {"first": state.frames}

    def reward(self, progress: dict[str, int], before: BusyState, after: BusyState) -> dict[str, float]:
        """Return the frames the cartridge has made."""
        return {"frame": after.frames - before.frames}

    def over(self, state: BusyState, progress: dict[str, int]) -> bool:
        """Never."""
        return False

    def features(self, state: BusyState, progress: dict[str, int], out: Features) -> None:
        """Write the one number there is."""
        write_features((state.frames % 1000 / 1000,), out)

    def metrics(self, progress: dict[str, int], state: BusyState) -> dict[str, float]:
        """Return the frames of this episode."""
        return {"frames": state.frames - progress["first"]}


BUSY = f"{Busy.__module__}:{Busy.__qualname__}"


def bench_busy(*, seconds: float = 3.0, rounds: int = 5, n_envs: int = 16, say: Say = tell_stderr) -> dict[str, Any]:
    """Measure one console on one core, consoles on all cores, and the pool; the last of six frames is drawn."""
    if seconds <= 0 or rounds < 1 or n_envs < 1:
        raise SettingsError("seconds, rounds and n_envs must be above 0")
    spec = EnvSpec(game=BUSY, observation="pixels")
    n_cores = usable_cores()
    say("recording an episode")
    episodes: list[RecordedEpisode] = record_episodes(spec, 1, max_steps=_RECORDED_STEPS)
    with ExitStack() as stack:
        one = BareProcesses(spec, episodes, n_processes=1)
        stack.callback(one.close)
        every = BareProcesses(spec, episodes, n_processes=n_cores, n_consoles=max(1, n_envs // n_cores))
        stack.callback(every.close)
        pool = PoolContender(spec, n_envs, n_cores)
        stack.callback(pool.close)
        contenders: dict[str, Contender] = {
            "one console": one.variant(True),
            "all cores": every.variant(True),
            "pool": pool,
        }
        rates = {name: statistics.median(many) for name, many in interleave(contenders, rounds, seconds, say).items()}
    low, high = USERS_STEPS_PER_S
    return {
        "bench": "busy",
        "frame_skip": Busy.frame_skip,
        "n_envs": n_envs,
        "n_cores": n_cores,
        "one_console_steps_per_s": rates["one console"],
        "all_cores_steps_per_s": rates["all cores"],
        "per_core_steps_per_s": rates["all cores"] / n_cores,
        "pool_steps_per_s": rates["pool"],
        "users_steps_per_s": [low, high],
        "one_console_over_users": [rates["one console"] / high, rates["one console"] / low],
        "pool_over_users": [rates["pool"] / high, rates["pool"] / low],
        "seconds": seconds,
        "rounds": rounds,
        "machine": machine(),
    }

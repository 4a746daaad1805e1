"""End-to-end speed with learning: ours beside SB3's PPO with the same env, network and settings, and the limits.

Between two of our updates every peer takes one of its own, so a busy machine slows all of them alike.
"""

from __future__ import annotations

import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

import torch

from parcade.cores import usable_cores
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.run.directory import RunFolder
from parcade.settings import TrainSettings, make_settings
from parcade.training import Training
from parcade.tune.bench_env import PoolContestant
from parcade.tune.bench_peers import gymnasium_sync, sb3_dummy, sb3_subproc
from parcade.tune.contest import Contestant, Say, machine, median_ratio, tell_stderr
from parcade.tune.nature_env import ENV_ID
from parcade.tune.networks import BareLearning, BareNetwork, sb3_policy
from parcade.tune.single_file_ppo import SingleFilePpo
from parcade.tune.stretches import StretchContestant

NATURE: dict[str, Any] = {"env_id": ENV_ID, "imports": ("parcade.tune.nature_env",)}
CASES: dict[str, dict[str, Any]] = {
    "nature-cnn": {**NATURE, "cnn": "nature"},
    "small-cnn": {"game": "lantern", "observation": "pixels", "cnn": "small"},
    "features-mlp": {"game": "lantern", "observation": "features", "hidden": (128, 128)},
}
NO_EXTRAS: dict[str, Any] = {"eval_freq": 0, "final_eval_episodes": 0, "save_freq": 0, "video": False, "device": "cpu"}
LIMIT_S = 1.0
TURN_S = 2.0  # a turn lasts at least this long, ours and every peer's: one short update says little on a noisy host
# Nobody gets better: whoever learned quicker would meet more rooms and foes, which cost the emulator more.
LEARNING_RATE = 1e-12
SB3_ENVS = 16  # of SB3 with its own defaults, which name no number of envs


@dataclass(frozen=True, slots=True)
class Scale:
    """The settings ours and the peers share."""

    n_envs: int = 16
    n_steps: int = 128
    batch_size: int = 256
    n_epochs: int = 4

    @property
    def rows(self) -> int:
        """Env steps of one update."""
        return self.n_envs * self.n_steps


def bench_train(
    cases: Sequence[str] = tuple(CASES), *, rounds: int = 5, scale: Scale | None = None, say: Say = tell_stderr
) -> dict[str, Any]:
    """Measure the cases one after another; the keys stand in docs/bench.md."""
    unknown = [case for case in cases if case not in CASES]
    if unknown:
        raise SettingsError(f"bench train has no case {unknown[0]!r}; its cases are {', '.join(CASES)}")
    if rounds < 1:
        raise SettingsError(f"rounds is {rounds}, wanted 1 or more")
    scale = scale or Scale()
    return {
        "bench": "train",
        "cases": [_measure_case(case, rounds, scale, say) for case in cases],
        "rounds": rounds,
        **asdict(scale),
        "machine": machine(),
    }


def _measure_case(case: str, rounds: int, scale: Scale, say: Say) -> dict[str, Any]:
    spec = _spec(CASES[case])
    with ExitStack() as stack:
        peers = _open_peers(case, spec, scale, stack)
        pool = PoolContestant(spec, scale.n_envs)
        stack.callback(pool.close)
        rates = _interleave(case, rounds, scale, peers, pool, say)
    ours, names, limits = rates["ours"], list(peers), _limits(rates, scale.n_epochs)
    best = max(names, key=lambda name: statistics.median(rates[name]), default=None)
    return {
        "case": case,
        "steps_per_s": statistics.median(ours),
        "peers": [{"name": name, "steps_per_s": statistics.median(rates[name])} for name in names],
        "over_best_peer": median_ratio(ours, rates[best]) if best else None,
        "learn_samples_per_s": statistics.median(rates["learning"]),
        "limit_learn_samples_per_s": statistics.median(rates["limit, learning"]),
        "learn_of_limit": median_ratio(rates["learning"], rates["limit, learning"]),
        "limit_env_steps_per_s": statistics.median(rates["limit, env"]),
        "limit_steps_per_s": statistics.median(limits),
        "of_limit": median_ratio(ours, limits),
        "limit_over_best_peer": median_ratio(limits, rates[best]) if best else None,
    }


def _limits(rates: dict[str, list[float]], n_epochs: int) -> list[float]:
    """Return both limits one after the other: a step is emulated once and learned from ``n_epochs`` times."""
    pairs = zip(rates["limit, env"], rates["limit, learning"], strict=True)
    return [1 / (1 / env + n_epochs / learn) for env, learn in pairs]


def _spec(case: dict[str, Any]) -> EnvSpec:
    return EnvSpec(**{name: value for name, value in case.items() if name in EnvSpec.__dataclass_fields__})


def _open_peers(case: str, spec: EnvSpec, scale: Scale, stack: ExitStack) -> dict[str, Callable[[], float]]:
    """Return SB3's PPO on both of its vector envs and a single-file PPO; a call takes one update, returns steps/s."""
    peers: dict[str, Callable[[], float]] = {"cleanrl-style": _single_file_update(case, spec, scale, stack)}
    if not importlib.util.find_spec("stable_baselines3"):
        return peers
    for name, opener in (("sb3-subproc", sb3_subproc), ("sb3-dummy", sb3_dummy)):
        vector_env = opener(spec, scale.n_envs)
        stack.callback(vector_env.close)
        peers[name] = _sb3_update(case, vector_env, scale)
    return peers


def _single_file_update(case: str, spec: EnvSpec, scale: Scale, stack: ExitStack) -> Callable[[], float]:
    vector_env = gymnasium_sync(spec, scale.n_envs)
    stack.callback(vector_env.close)
    shape, n_actions = vector_env.single_observation_space.shape, int(vector_env.single_action_space.n)
    network = BareNetwork(case, shape, n_actions, channels_last=False)
    return SingleFilePpo(network, vector_env, scale.n_steps, scale.batch_size, scale.n_epochs, LEARNING_RATE).update


def _sb3_update(case: str, vector_env: Any, scale: Scale) -> Callable[[], float]:
    from stable_baselines3 import PPO

    policy, arguments = sb3_policy(case)
    model = PPO(
        policy,
        vector_env,
        n_steps=scale.n_steps,
        batch_size=scale.batch_size,
        n_epochs=scale.n_epochs,
        learning_rate=LEARNING_RATE,
        ent_coef=0.01,
        policy_kwargs=arguments,
        device="cpu",
    )

    def update() -> float:
        started = time.perf_counter()
        model.learn(scale.rows, reset_num_timesteps=False)
        return scale.rows / (time.perf_counter() - started)

    return update


def _interleave(
    case: str, rounds: int, scale: Scale, peers: dict[str, Callable[[], float]], pool: PoolContestant, say: Say
) -> dict[str, list[float]]:
    """Train; in the pause after each of our updates let the others take theirs. The first round warms up."""
    rates: dict[str, list[float]] = {name: [] for name in ("ours", "learning", "limit, env", "limit, learning", *peers)}
    bare: list[BareLearning] = []
    players: list[Contestant] = [pool]
    if case == "features-mlp":  # its policy plays in the workers
        players.append(StretchContestant(pool.pool))
    turn = {"steps": 0.0, "seconds": 0.0, "learn_s": 0.0}
    seconds_before = 0.0

    def note(name: str, rate: float, unit: str = "steps/s") -> None:
        rates[name].append(rate)
        number = len(rates[name])
        say(f"{case:<12} {'warm-up' if number == 1 else f'round {number - 1}':<8} {name:<16} {rate:>9,.0f} {unit}")

    def between_updates(what: str, row: dict[str, Any]) -> None:
        nonlocal seconds_before
        if what != "update":
            return
        times = row["time"]
        turn["steps"] += scale.rows
        turn["learn_s"] += times["learn_s"]
        turn["seconds"] += times["seconds"] - seconds_before
        seconds_before = times["seconds"]
        if turn["seconds"] < TURN_S:
            return
        note("ours", turn["steps"] / turn["seconds"])
        note("learning", turn["steps"] * scale.n_epochs / turn["learn_s"], "samples/s")
        turn.update(dict.fromkeys(turn, 0.0))
        note("limit, learning", max(_bare_rate(bare[0], threads) for threads in (1, usable_cores())), "samples/s")
        note("limit, env", max(player.turn(LIMIT_S / len(players)) for player in players))
        for name, update in peers.items():
            note(name, _peer_turn(update, scale.rows))
        if len(rates["ours"]) > rounds:
            training.request_stop()

    with tempfile.TemporaryDirectory() as folder:
        given = {**CASES[case], **asdict(scale), **NO_EXTRAS, "log_root": folder, "learning_rate": LEARNING_RATE}
        settings = make_settings({**given, "total_timesteps": 1 << 40})
        with Training(settings, RunFolder.create(folder, case), between_updates) as training:
            pool_of_ours: Any = training.pool
            shape, n_actions = pool_of_ours.observation_space.shape, int(pool_of_ours.action_space.n)
            bare.append(BareLearning(case, shape, n_actions, scale.batch_size))
            training.begin()
            training.run()
    return {name: values[1:] for name, values in rates.items()}


def _peer_turn(update: Callable[[], float], rows: int) -> float:
    """Let a peer take updates for ``TURN_S``; return its steps per second."""
    seconds, steps = 0.0, 0
    while seconds < TURN_S:
        seconds += rows / update()
        steps += rows
    return steps / seconds


def _bare_rate(bare: BareLearning, threads: int) -> float:
    """Return the bare loop's rate; small networks are quicker with one thread, others with all."""
    torch.set_num_threads(threads)
    return bare.turn(LIMIT_S / 2)


def bench_to_success(
    *, minutes: float = 20.0, success: float = 0.9, observation: str = "features", say: Say = tell_stderr
) -> dict[str, Any]:
    """Train Lantern with our defaults, then with SB3's, each until it succeeds or ``minutes`` have passed.

    Success is the share of the last 100 training episodes that cleared the dungeon, for both alike; the time counts
    from before the envs are opened.
    """
    ours = _ours_to_success(minutes * 60, success, observation, say)
    theirs = _sb3_to_success(minutes * 60, success, observation, say)
    ratio = None
    if theirs is not None and ours["reached"]:
        ratio = theirs["seconds"] / ours["seconds"]  # a lower bound where SB3 did not get there in time
    return {
        "bench": "train",
        "to_success": success,
        "observation": observation,
        "minutes": minutes,
        "ours": ours,
        "sb3": theirs,
        "times_shorter": ratio,
        "times_shorter_is_lower_bound": bool(theirs and not theirs["reached"]),
        "machine": machine(),
    }


def _ours_to_success(seconds: float, success: float, observation: str, say: Say) -> dict[str, Any]:
    from parcade.assembly import settings_for

    started, last, reached = time.perf_counter(), {"env_steps": 0, "success_rate": None}, False

    def watch(what: str, row: dict[str, Any]) -> None:
        nonlocal last, reached
        if what != "update" or reached:
            return
        last, elapsed = row, time.perf_counter() - started
        enough = row["success_rate"] is not None and row["success_rate"] >= success and row["episodes"] >= 100
        if row["update"] % 10 == 0 or enough:
            say(f"ours  {elapsed:6.0f} s  step {row['env_steps']:>9,}  success {row['success_rate'] or 0:.2f}")
        if enough or elapsed > seconds:
            reached = enough
            ended.append(elapsed)
            training.request_stop()

    ended: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        given = {"game": "lantern", "observation": observation, "log_root": folder, **NO_EXTRAS}
        settings: TrainSettings = settings_for(given)
        with Training(settings, RunFolder.create(folder, "ours"), watch) as training:
            training.begin()
            training.run()
    elapsed = ended[0] if ended else time.perf_counter() - started
    return {
        "seconds": elapsed,
        "env_steps": last["env_steps"],
        "success_rate": last["success_rate"],
        "reached": reached,
    }


def _sb3_to_success(seconds: float, success: float, observation: str, say: Say) -> dict[str, Any] | None:
    if not importlib.util.find_spec("stable_baselines3"):
        return None
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback

    class Watch(BaseCallback):  # type: ignore[misc]
        """Counts successes of the last 100 episodes and stops the training."""

        def __init__(self) -> None:
            super().__init__()
            self.outcomes: list[bool] = []
            self.reached = False

        @property
        def rate(self) -> float:
            return statistics.fmean(self.outcomes[-100:]) if self.outcomes else 0.0

        def _on_step(self) -> bool:
            self.outcomes += [info["is_success"] for info in self.locals["infos"] if "is_success" in info]
            self.reached = len(self.outcomes) >= 100 and self.rate >= success
            return not self.reached and time.perf_counter() - started < seconds

        def _on_rollout_end(self) -> None:
            elapsed = time.perf_counter() - started
            say(f"sb3   {elapsed:6.0f} s  step {self.num_timesteps:>9,}  success {self.rate:.2f}")

    torch.set_num_threads(usable_cores())
    started = time.perf_counter()
    vector_env = sb3_dummy(EnvSpec(game="lantern", observation=observation), SB3_ENVS)
    try:
        watch = Watch()
        policy = "MlpPolicy" if observation == "features" else "CnnPolicy"
        model = PPO(policy, vector_env, device="cpu")
        model.learn(1 << 40, callback=watch)
        elapsed = time.perf_counter() - started
    finally:
        vector_env.close()
    return {
        "name": f"sb3 PPO, its own defaults, DummyVecEnv of {SB3_ENVS}",
        "seconds": elapsed,
        "env_steps": int(model.num_timesteps),
        "success_rate": watch.rate,
        "reached": watch.reached,
    }

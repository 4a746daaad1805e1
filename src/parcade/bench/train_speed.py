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

from parcade.bench.collecting import measure_collecting
from parcade.bench.env_speed import PoolContender
from parcade.bench.fragments import FragmentContender
from parcade.bench.interleave import Contender, median_ratio
from parcade.bench.machine import machine
from parcade.bench.nature_env import ENV_ID
from parcade.bench.networks import BareLearning, BareNetwork, sb3_policy
from parcade.bench.peers import gymnasium_sync, sb3_dummy, sb3_subproc
from parcade.bench.progress import Say, tell_stderr
from parcade.bench.single_file_ppo import SingleFilePpo
from parcade.config.settings import TrainSettings, make_settings
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError
from parcade.host.cores import usable_cores
from parcade.run.directory import RunFolder
from parcade.train.events import Event, Updated
from parcade.train.training import Training

NATURE: dict[str, Any] = {"env_id": ENV_ID, "imports": ("parcade.bench.nature_env",)}
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
    cases: Sequence[str] = tuple(CASES),
    *,
    rounds: int = 5,
    scale: Scale | None = None,
    overlap: bool = False,
    say: Say = tell_stderr,
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
        "cases": [_measure_case(case, rounds, scale, overlap, say) for case in cases],
        "overlap": overlap,
        "rounds": rounds,
        **asdict(scale),
        "machine": machine(),
    }


def _measure_case(case: str, rounds: int, scale: Scale, overlap: bool, say: Say) -> dict[str, Any]:
    settings = _settings(case, scale, overlap)
    spec = _spec(CASES[case])
    with ExitStack() as stack:
        peers = _open_peers(case, spec, scale, stack)
        contenders: list[Contender] = [PoolContender(spec, scale.n_envs), FragmentContender(spec, scale.n_envs)]
        for contender in contenders:
            stack.callback(contender.close)
        rates = _interleave(case, settings, rounds, scale, peers, contenders, say)
    collecting = measure_collecting(settings)
    for row in collecting:
        say(
            f"{case:<12} collecting with {row['n_workers']} workers: {row['steps_per_s']:,.0f} steps/s, "
            f"the trainer computes {row['trainer_cpu_share']:.1%} of the time"
        )
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
        "collecting": collecting,
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
    case: str,
    settings: TrainSettings,
    rounds: int,
    scale: Scale,
    peers: dict[str, Callable[[], float]],
    contenders: list[Contender],
    say: Say,
) -> dict[str, list[float]]:
    """Train; in the pause after each of our updates let the others take theirs. The first round warms up."""
    rates: dict[str, list[float]] = {name: [] for name in ("ours", "learning", "limit, env", "limit, learning", *peers)}
    bare: list[BareLearning] = []
    turn = {"updates": 0.0, "steps": 0.0, "seconds": 0.0, "learn_s": 0.0}
    seconds_before = 0.0

    def note(name: str, rate: float, unit: str = "steps/s") -> None:
        rates[name].append(rate)
        number = len(rates[name])
        say(f"{case:<12} {'warm-up' if number == 1 else f'round {number - 1}':<8} {name:<16} {rate:>9,.0f} {unit}")

    def between_updates(event: Event) -> None:
        nonlocal seconds_before
        if not isinstance(event, Updated):
            return
        times = event.row["time"]
        if settings.overlap and not turn["updates"]:  # its rollout was played during the others' turns: not counted
            turn["updates"], seconds_before = 1, times["seconds"]
            return
        turn["steps"] += scale.rows
        turn["learn_s"] += times["learn_s"]
        turn["seconds"] += times["seconds"] - seconds_before
        seconds_before = times["seconds"]
        if turn["seconds"] < TURN_S:
            return
        while settings.overlap and training.pool.progress.taken() < scale.rows:
            time.sleep(0.01)  # the next rollout is under way: nobody else is measured beside it
        note("ours", turn["steps"] / turn["seconds"])
        note("learning", turn["steps"] * scale.n_epochs / turn["learn_s"], "samples/s")
        turn.update(dict.fromkeys(turn, 0.0))
        note("limit, learning", max(_bare_rate(bare[0], threads) for threads in (1, usable_cores())), "samples/s")
        note("limit, env", max(contender.turn(LIMIT_S / len(contenders)) for contender in contenders))
        for name, update in peers.items():
            note(name, _peer_turn(update, scale.rows))
        if len(rates["ours"]) > rounds:
            training.request_stop()

    with tempfile.TemporaryDirectory() as folder:
        ours = settings.model_copy(update={"log_root": folder})
        with Training(ours, RunFolder.create(folder, case), between_updates) as training:
            pool_of_ours: Any = training.pool
            shape, n_actions = pool_of_ours.observation_space.shape, int(pool_of_ours.action_space.n)
            bare.append(BareLearning(case, shape, n_actions, scale.batch_size))
            training.begin()
            training.run()
    return {name: values[1:] for name, values in rates.items()}


def _settings(case: str, scale: Scale, overlap: bool) -> TrainSettings:
    given = {**CASES[case], **asdict(scale), **NO_EXTRAS, "learning_rate": LEARNING_RATE, "overlap": overlap}
    return make_settings({**given, "total_timesteps": 1 << 40})


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

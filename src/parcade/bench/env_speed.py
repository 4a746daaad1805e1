"""How near the pool comes to the machine's limit, and how far peers stay behind, over the very same env.

All contenders are open at once and measured in interleaved rounds. A step is one action in one env.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from parcade.bench.bare_consoles import BareProcesses, record_episodes
from parcade.bench.fragments import FragmentContender
from parcade.bench.interleave import Contender, interleave, median_ratio
from parcade.bench.machine import machine
from parcade.bench.peers import MULTIPROCESS, installed_peers, open_peer
from parcade.bench.progress import Say, tell_stderr
from parcade.env.make import check_spec
from parcade.env.spec import EnvSpec
from parcade.errors import RunError, SettingsError
from parcade.host.cores import usable_cores
from parcade.host.memory import private_mb
from parcade.pool.process_pool import ProcessPool

N_READY_ACTIONS = 512
N_RECORDED = 8  # episodes the limit replays
LIMIT, UNDRAWN, IN_FRAGMENTS = "limit", "limit, undrawn", ", in fragments"


class PoolContender:
    """Our pool, its two groups kept under way all the time, fed with random actions drawn before."""

    def __init__(self, spec: EnvSpec, n_envs: int, n_workers: int | None = None) -> None:
        self.n_envs = n_envs
        self.pool = ProcessPool(spec, n_envs, n_workers=n_workers, n_groups=min(2, n_envs))
        self.n_workers = self.pool.n_workers
        try:
            n_actions = int(self.pool.action_space.n)  # type: ignore[attr-defined]
        except AttributeError:
            self.pool.close()
            raise SettingsError(f"bench env needs an env with Discrete actions, {spec.label} has others") from None
        sizes = [len(slots) for slots in self.pool.progress.slots]
        rng = np.random.default_rng([1])
        self._actions = [rng.integers(n_actions, size=(N_READY_ACTIONS, size)) for size in sizes]
        self._sizes, self._next = sizes, 0
        self.pool.reset()

    def turn(self, seconds: float) -> float:
        """Step for ``seconds``; no step is under way on return."""
        pool, sizes, actions = self.pool, self._sizes, self._actions
        groups, n = range(len(sizes)), 0
        started = time.perf_counter()
        for group in groups:
            pool.send(actions[group][self._next % N_READY_ACTIONS], group)
        while time.perf_counter() - started < seconds:
            self._next += 1
            for group in groups:
                pool.recv(group)
                n += sizes[group]
                pool.send(actions[group][self._next % N_READY_ACTIONS], group)
        for group in groups:
            pool.recv(group)
            n += sizes[group]
        return n / (time.perf_counter() - started)

    def private_mb(self) -> float:
        """Return the memory only the workers hold, and what they share, in MB."""
        return (
            sum(private_mb(pid) for pid in self.pool.worker_pids)
            + sum(file.layout.dense_size for file in self.pool.shared_files) / 1e6
        )

    def close(self) -> None:
        """Close the pool."""
        self.pool.close()


def bench_env(
    game: str = "lantern",
    *,
    observation: str = "pixels",
    seconds: float = 2.0,
    rounds: int = 5,
    n_envs: Sequence[int] = (2, 16, 64, 256),
    n_workers: Sequence[int] = (),
    peer_envs: int = 16,
    peers: bool = True,
    limit_consoles: int = 1,
    rom: str | None = None,
    state: str | None = None,
    say: Say = tell_stderr,
) -> dict[str, Any]:
    """Measure ``rounds`` turns of ``seconds`` each and return the medians; the keys stand in docs/bench.md.

    ``of_limit`` is against the limit with the same drawing: pixels against the last frame drawn, features against
    nothing drawn. Ratios are medians over rounds of the ratio within a round.
    """
    if min(seconds, rounds, peer_envs, limit_consoles, *n_envs) <= 0:
        raise SettingsError("seconds, rounds and every number of envs must be above 0")
    spec = EnvSpec(game=game, observation=observation, rom=rom, state=state)
    check_spec(spec)
    workers = tuple(n_workers) or (usable_cores(),)
    with ExitStack() as stack:
        bare = _open_limit(stack, spec, limit_consoles, say)
        entries: dict[str, Contender] = {LIMIT: bare.variant(draw=True), UNDRAWN: bare.variant(draw=False)}
        pools = _open_pools(stack, spec, n_envs, workers, say)
        entries |= pools
        for name, pool in pools.items():
            entries[f"{name}{IN_FRAGMENTS}"] = fragments = FragmentContender(spec, pool.n_envs, pool.n_workers)
            stack.callback(fragments.close)
        names = _open_peers(stack, spec, peer_envs if peers else 0, entries, say)
        rates = interleave(entries, rounds, seconds, say)
        memory = {name: entry.private_mb() for name, entry in pools.items()}
        limit = LIMIT if observation != "features" else UNDRAWN
        in_step = bare.in_step[limit == LIMIT][-rounds:]  # the first turn is not counted
        rows = [_pool_row(pools, name, rates, rates[limit], in_step, memory) for name in pools]
    result = {
        "bench": "env",
        "game": game,
        "observation": observation,
        "limit_steps_per_s": statistics.median(rates[LIMIT]),
        "limit_undrawn_steps_per_s": statistics.median(rates[UNDRAWN]),
        "limit_in_step_steps_per_s": statistics.median(in_step),
        "limit_consoles_per_process": limit_consoles,
        "of_limit_is_against": "limit_steps_per_s" if limit == LIMIT else "limit_undrawn_steps_per_s",
        "pool": rows,
        "peers": [{"name": name, "n_envs": peer_envs, "steps_per_s": statistics.median(rates[name])} for name in names],
        **_over_peers(rates, pools, names, peer_envs),
        "rounds": rounds,
        "seconds": seconds,
        "machine": machine(),
    }
    return result


def _open_limit(stack: ExitStack, spec: EnvSpec, n_consoles: int, say: Say) -> BareProcesses:
    say(f"recording {N_RECORDED} episodes of {spec.label} under random actions")
    bare = BareProcesses(spec, record_episodes(spec, N_RECORDED), n_consoles=n_consoles)
    stack.callback(bare.close)
    return bare


def _open_pools(
    stack: ExitStack, spec: EnvSpec, n_envs: Sequence[int], workers: Sequence[int], say: Say
) -> dict[str, PoolContender]:
    pools: dict[str, PoolContender] = {}
    for n in n_envs:
        for count in workers:
            started = time.perf_counter()
            pool = PoolContender(spec, n, count)
            stack.callback(pool.close)
            pools[f"pool {n} x {pool.n_workers}"] = pool
            say(f"a pool of {n} envs in {pool.n_workers} workers is open after {time.perf_counter() - started:.1f} s")
    return pools


def _open_peers(stack: ExitStack, spec: EnvSpec, n_envs: int, entries: dict[str, Contender], say: Say) -> list[str]:
    """Add every installed peer to the contenders; return their names."""
    there, missing = installed_peers() if n_envs else ([], [])
    for name in missing:
        say(f"{name} is not installed and is left out; the extra `dev` brings it")
    for name in there:
        entries[name] = peer = open_peer(name, spec, n_envs)
        stack.callback(peer.close)
        say(f"{name} with {n_envs} envs is open")
    return there


def _pool_row(
    pools: dict[str, PoolContender],
    name: str,
    rates: dict[str, list[float]],
    limit: list[float],
    in_step: list[float],
    memory: dict[str, float],
) -> dict[str, Any]:
    pool = pools[name]
    same = [n for n, other in pools.items() if other.n_workers == pool.n_workers]
    smallest = min(same, key=lambda n: pools[n].n_envs)
    further = pool.n_envs - pools[smallest].n_envs
    growth = memory[name] - memory[smallest]
    return {
        "n_envs": pool.n_envs,
        "n_workers": pool.n_workers,
        "steps_per_s": statistics.median(rates[name]),
        "of_limit": median_ratio(rates[name], limit),
        "of_limit_in_step": median_ratio(rates[name], in_step),
        "fragment_steps_per_s": statistics.median(rates[f"{name}{IN_FRAGMENTS}"]),
        "fragment_of_limit": median_ratio(rates[f"{name}{IN_FRAGMENTS}"], limit),
        "mb_per_env": growth / further if further else None,  # per env beyond the smallest pool's
        "workers_mb": memory[name],
    }


def _over_peers(
    rates: dict[str, list[float]], pools: dict[str, PoolContender], peers: list[str], peer_envs: int
) -> dict[str, Any]:
    """Return how far the pool with as many envs is ahead; None where there is nothing to compare."""
    equal = [name for name, pool in pools.items() if pool.n_envs == peer_envs]

    def over(names: list[str]) -> float | None:
        if not equal or not names:
            return None
        ours = max(equal, key=lambda name: statistics.median(rates[name]))
        return median_ratio(rates[ours], rates[max(names, key=lambda name: statistics.median(rates[name]))])

    several = [name for name in peers if name in MULTIPROCESS]
    return {"over_best_peer": over(peers), "over_best_multiprocess_peer": over(several)}


def draw_plot(result: dict[str, Any], path: str | Path) -> str:
    """Write a bar chart of a result; return where."""
    try:
        import matplotlib
    except ImportError:
        raise SettingsError("a plot needs matplotlib; the extra `dev` brings it") from None
    with _quiet_backend(matplotlib):
        from matplotlib import pyplot

        bars = [("limit, last frame drawn", result["limit_steps_per_s"], "0.6")]
        bars.append(("limit, nothing drawn", result["limit_undrawn_steps_per_s"], "0.8"))
        pools = [(f"pool, {r['n_envs']} envs in {r['n_workers']}", r["steps_per_s"]) for r in result["pool"]]
        bars += [(label, rate, "tab:orange") for label, rate in pools]
        bars += [(f"{r['name']}, {r['n_envs']} envs", r["steps_per_s"], "tab:blue") for r in result["peers"]]
        figure, axes = pyplot.subplots(figsize=(8, 0.4 * len(bars) + 1.2), layout="constrained")
        labels, rates, colours = zip(*reversed(bars), strict=True)
        axes.bar_label(axes.barh(labels, rates, color=colours), fmt="{:,.0f}", padding=3)
        axes.set(xlabel="steps/s", title=f"{result['game']}, {result['observation']}: {result['machine']}")
        axes.title.set_fontsize(9)
        axes.margins(x=0.12)
        try:
            figure.savefig(path, dpi=120)
        except (OSError, ValueError) as error:
            raise RunError(f"the plot cannot be written to {path}: {error}") from None
        finally:
            pyplot.close(figure)
    return str(path)


@contextmanager
def _quiet_backend(matplotlib: Any) -> Iterator[None]:
    """Draw without a display, and leave the user's choice of backend as it was."""
    kept = matplotlib.get_backend()
    matplotlib.use("agg")
    try:
        yield
    finally:
        matplotlib.use(kept)

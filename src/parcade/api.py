"""What Python users call: trainings that can be seen, envs and pools by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from parcade.config.file import read_guide
from parcade.env.factory import pickle_factory
from parcade.env.make import make
from parcade.env.spec import EnvSpec
from parcade.errors import SettingsError, did_you_mean
from parcade.game.titles import title_names
from parcade.pool.opening import POOL_OPTIONS, open_pool
from parcade.pool.process_pool import ProcessPool
from parcade.pool.serial_pool import SerialPool

if TYPE_CHECKING:
    from parcade.config.settings import TrainSettings
    from parcade.train.evaluation import Evaluation
    from parcade.train.events import Event, Listener
    from parcade.train.loaded_policy import LoadedPolicy
    from parcade.train.python_env import PythonEnv
    from parcade.train.results import TrainResult

EnvLike = str | EnvSpec | Callable[[], gym.Env[Any, Any]]


def train(
    settings: TrainSettings | None = None,
    *,
    env: PythonEnv | None = None,
    on_event: Listener | None = None,
    progress: bool = False,
    visual: bool = False,
    **given: Any,
) -> TrainResult:
    """Train and return what came of it; settings are fields of ``TrainSettings`` by name.

    ``train(game="lantern", total_timesteps=50_000, n_envs=8)``
    ``env`` is a title, a Gymnasium id, or a function that makes a ``gymnasium.Env``. No file can hold a function: such
    a run is resumed with ``resume(run, env=function)`` and its model evaluated with ``evaluate(model, env=function)``.
    ``progress`` prints a line now and then and a summary, ``visual`` opens a window with every game, and ``on_event``
    is called with each event of ``parcade.train.events``. No number depends on any of them.
    """
    from parcade.cluster.opening import RayMachines
    from parcade.train.start import train as run

    name = settings.name if settings is not None else str(given.get("run_name") or given.get("game") or "training")
    with _shown(name, on_event, progress, visual) as shown:
        return run(settings, env=env, machines=RayMachines(), **shown, **given)


def resume(
    run_dir: str | Path,
    *,
    env: PythonEnv | None = None,
    on_event: Listener | None = None,
    progress: bool = False,
    visual: bool = False,
    **changes: Any,
) -> TrainResult:
    """Go on with an interrupted run from its newest checkpoint, with the numbers an unbroken run would have had.

    ``changes`` are those of ``parcade.train.resume.resume``; the rest is as in ``train``.
    """
    from parcade.cluster.opening import RayMachines
    from parcade.train.resume import resume as run

    with _shown(str(run_dir), on_event, progress, visual) as shown:
        return run(run_dir, env=env, machines=RayMachines(), **shown, **changes)


def evaluate(model: str | Path | None = None, *, cluster: str | None = None, **options: Any) -> Evaluation:
    """Play episodes of a model file (or of a random policy) on unseen seeds and return what came of them.

    ``options`` are those of ``parcade.train.evaluation.evaluate``. ``cluster`` is the address of a Ray cluster (or
    auto) whose nodes play; the numbers do not depend on it.
    """
    from parcade.cluster.opening import RayMachines
    from parcade.train.evaluation import evaluate as run

    if cluster in (None, "none", ""):
        return run(model, **options)
    if options.get("watch") is not None:
        raise SettingsError("a window shows a game of this machine; leave out cluster")
    return run(model, play_parts=RayMachines().play_parts(str(cluster), is_guest=False), **options)


@contextmanager
def _shown(name: str, on_event: Listener | None, progress: bool, visual: bool) -> Iterator[dict[str, Any]]:
    """Give what a training is told to show itself with."""
    with ExitStack() as stack:
        shown: dict[str, Any] = {"on_event": _with_lines(on_event) if progress else on_event}
        if visual:
            from parcade.env.spec import Watch
            from parcade.view.launch import window

            shown["watch"] = Watch(stack.enter_context(window(f"{name} - Parcade")))
        yield shown


def _with_lines(on_event: Listener | None) -> Listener:
    """Return a listener that prints what happens to standard error before it hands it on."""
    from parcade.train.events import Finished
    from parcade.train.plain_progress import PlainProgress
    from parcade.train.summary import summary_text

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    plain = PlainProgress(say)

    def listen(event: Event) -> None:
        plain(event)
        if isinstance(event, Finished):
            say(summary_text(event))
        if on_event is not None:
            on_event(event)

    return listen


def as_spec(env: EnvLike, **options: Any) -> EnvSpec:
    """Return the spec of a title's name, a Gymnasium id, a spec, or a factory that makes an env."""
    for name in options:
        if name not in EnvSpec.__dataclass_fields__:
            hint = did_you_mean(name, [*EnvSpec.__dataclass_fields__, *POOL_OPTIONS])
            raise SettingsError(f"an env has no option {name!r}{hint}")
    if isinstance(options.get("guide"), str | Path):
        options["guide"] = read_guide(options["guide"])
    if isinstance(env, EnvSpec):
        return env.with_(**options) if options else env
    if isinstance(env, str):
        if env in title_names() or ":" in env:
            return EnvSpec(game=env, **options)
        return EnvSpec(env_id=env, **options)
    return EnvSpec(factory=pickle_factory(env), **options)


def make_env(env: EnvLike, **options: Any) -> gym.Env[Any, Any]:
    """Return one env: a title's name, a Gymnasium id, a spec or a factory; ``options`` are fields of EnvSpec.

    ``make_env("lantern", observation="pixels", frames_stack=4)``
    """
    return make(as_spec(env, **options))


def load_policy(path: str | Path, *, seed: int = 0) -> LoadedPolicy:
    """Return the policy of a model file, to play with in a program of your own; ``seed`` decides what is drawn.

    ``policy.act(observation, deterministic=False)`` returns an action; call ``policy.reset()`` where an episode begins.
    ``action, state = policy.act(observation, state)`` keeps nothing in the policy; the first is ``policy.begin()``.
    """
    from parcade.train.loaded_policy import LoadedPolicy

    return LoadedPolicy(path, seed)


def make_pool(env: EnvLike, n_envs: int, **options: Any) -> ProcessPool | SerialPool:
    """Return a pool of ``n_envs`` envs in ``n_workers`` processes (0: all in this one); close it with ``with``.

    ``options`` are those of ``open_pool`` and fields of EnvSpec.
    """
    for_pool = {name: options.pop(name) for name in POOL_OPTIONS & options.keys()}
    return open_pool(as_spec(env, **options), n_envs, **for_pool)

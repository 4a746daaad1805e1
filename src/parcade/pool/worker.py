"""A worker process: owns a range of slots, steps them when its bell rings."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import struct
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import cv2

from parcade.env.make import make
from parcade.env.slot import SlotEnv, as_slot_env, leaves
from parcade.env.spec import EnvSpec
from parcade.errors import EnvError
from parcade.pool.calling import answer, apply_call
from parcade.pool.layout import SlabLayout
from parcade.pool.lifecycle import BEING_MADE
from parcade.pool.slab import Slab
from parcade.pool.stepping import Actions, SlotRunner
from parcade.pool.stretch import Play, StretchRunner

BELL = struct.Struct("<H")  # what rings: a group's number
TALK = BELL.pack(0xFFFF)  # a command waits on the other pipe
STRETCH = 0xFFFE  # rings in place of a group when a stretch is over
EXIT_AFTER_RAISE = 70


@dataclass(frozen=True, slots=True)
class WorkerOrders:
    """Everything a worker needs to know, picklable."""

    worker: int
    slots: range
    n_groups: int
    spec: EnvSpec
    run_seed: int
    trainer_pid: int
    memory_limit_mb: int | None = None
    cpu: int | None = None  # the only processor to run on
    slab_path: str | None = None  # None: the slab waits for the first worker to tell the env's spaces
    layout: SlabLayout | None = None
    inherited_fds: tuple[int, ...] = ()  # with fork: the trainer's ends of every pipe, which must be closed here
    dies_with_parent: bool = False  # the parent process lasts as long as the trainer does


@dataclass(frozen=True, slots=True)
class SlotPlan:
    """Where a slot is brought: into an episode, after these actions; ``doomed``: its next step is cut."""

    episode: int
    actions: Actions
    doomed: bool = False


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring slots back; ``poisoned`` episodes are never begun, ``attributes`` of the user's are set again."""

    run_seed: int
    slots: dict[int, SlotPlan]
    poisoned: frozenset[tuple[int, int]]
    attributes: dict[int, dict[str, bytes]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finish:
    """Take the step under way in these slots of a group only, then ring for the group."""

    group: int
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Settle:
    """Say that everything rung before is done."""


@dataclass(frozen=True, slots=True)
class Call:
    """Reach one slot's env (see ``calling``) and answer with the result; arguments are cloudpickled."""

    slot: int
    what: str
    name: str
    arguments: bytes


FOR_THE_TRAINER = (signal.SIGINT, signal.SIGTERM)  # a terminal, `timeout` or a batch system sends them to all at once


class TrainerGoneError(Exception):
    """The other end of a pipe is closed."""


def run_worker(packed: bytes, bell: Connection, talk: Connection) -> None:
    """Serve until the trainer closes the bell; an exception is told over ``talk`` and ends the process."""
    for number in FOR_THE_TRAINER:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FOR_THE_TRAINER)  # they were held back while this process started
    runners: dict[int, SlotRunner] = {}
    try:
        orders: WorkerOrders = cloudpickle.loads(packed)
        _settle(orders)
        slab = _make_runners(orders, runners, talk)
        _say(talk, "ready")
        _serve(orders, runners, slab, bell, talk)
    except TrainerGoneError:
        pass
    except BaseException as error:
        _tell(talk, error)
        os._exit(EXIT_AFTER_RAISE)
    for runner in runners.values():
        runner.env.close()


def _settle(orders: WorkerOrders) -> None:
    """Let go of what belongs to others, and make sure this process ends with the trainer."""
    for fd in orders.inherited_fds:
        with contextlib.suppress(OSError):
            os.close(fd)
    cv2.setNumThreads(1)  # a worker has one core to itself
    if orders.cpu is not None:
        with contextlib.suppress(OSError):  # taken away meanwhile: run anywhere
            os.sched_setaffinity(0, {orders.cpu})
    if orders.dies_with_parent:
        _die_with_parent(orders.trainer_pid)
    _watch_trainer(orders.trainer_pid)
    _limit_memory(orders.memory_limit_mb)


def _make_runners(orders: WorkerOrders, runners: dict[int, SlotRunner], talk: Connection) -> Slab:
    """Make every slot's env; return the slab they write to."""
    first, path, layout = None, orders.slab_path, orders.layout
    if path is None or layout is None:
        first = _make_env(orders.spec, orders.slots[0])
        _say(talk, "spaces", cloudpickle.dumps((first.observation_space, first.action_space, first.metric_names)))
        path, layout = _hear(talk)
    slab = Slab.attach(path, layout)
    current, beats = slab.arrays["current_slot"].data, slab.arrays["beats"].data
    for slot in orders.slots:
        current[orders.worker] = slot
        slab.arrays["running_length"][slot] = BEING_MADE
        env, first = first or _make_env(orders.spec, slot), None
        _check_spaces(env, slab)
        runners[slot] = SlotRunner(env, slab, slot, orders.worker, orders.run_seed)
        beats[orders.worker] += 1
    current[orders.worker] = -1
    return slab


def _make_env(spec: EnvSpec, slot: int) -> SlotEnv:
    return as_slot_env(make(spec.with_(slot=slot)))


def _check_spaces(env: SlotEnv, slab: Slab) -> None:
    for prefix, space in (("obs", env.observation_space), ("action", env.action_space)):
        wanted = {leaf: (array.shape[1:], array.dtype) for leaf, array in slab.leaves(prefix).items()}
        if leaves(space) != wanted:
            word = "observation" if prefix == "obs" else "action"
            raise EnvError(f"its {word} space {space} is not that of slot 0; all envs of a pool must have the same")


def _serve(
    orders: WorkerOrders, runners: dict[int, SlotRunner], slab: Slab, bell: Connection, talk: Connection
) -> None:
    groups = [
        [runners[slot] for slot in orders.slots if slot % orders.n_groups == group] for group in range(orders.n_groups)
    ]
    presses = [[runner.press for runner in group if runner.has_halves] for group in groups]
    settles = [[runner.settle for runner in group] for group in groups]
    fd, worker, current = bell.fileno(), orders.worker, slab.arrays["current_slot"].data
    stretches = _Stretches(orders, runners, slab)
    while True:
        try:
            message = os.read(fd, BELL.size)
        except OSError:
            message = b""
        if not message:
            raise TrainerGoneError
        if message == TALK:
            serial, command = _hear(talk)
            message = stretches.play(command) if isinstance(command, Play) else _obey(serial, command, runners, talk)
        else:
            group = BELL.unpack(message)[0]
            for press in presses[group]:
                press()
            for settle in settles[group]:
                settle()
        current[worker] = -1
        if message:
            _ring(fd, message)


class _Stretches:
    """Plays stretches; the block they are kept in is attached once."""

    def __init__(self, orders: WorkerOrders, runners: dict[int, SlotRunner], slab: Slab) -> None:
        self._worker, self._slab, self._runners = orders.worker, slab, list(runners.values())
        self._path = ""
        self._runner: StretchRunner | None = None

    def play(self, command: Play) -> bytes:
        """Take the steps; return what the bell has to say about it."""
        if self._runner is None or command.path != self._path:
            track = Slab.attach(command.path, command.layout)
            self._path, self._runner = command.path, StretchRunner(self._runners, self._slab, track, self._worker)
        self._runner.run(cloudpickle.loads(command.player), command.first, command.n_steps)
        return BELL.pack(STRETCH)


def _obey(serial: int, command: Any, runners: dict[int, SlotRunner], talk: Connection) -> bytes:
    """Carry out a command; return what the bell has to say about it."""
    if isinstance(command, Finish):
        for slot in command.slots:
            runners[slot].step()
        return BELL.pack(command.group)
    if isinstance(command, Restore):
        for slot, plan in command.slots.items():
            runner = runners[slot]
            runner.run_seed, runner.poisoned = command.run_seed, command.poisoned
            for name, value in command.attributes.get(slot, {}).items():
                apply_call(runner.env, "set", name, (cloudpickle.loads(value),), {})
            runner.replay(plan.episode, plan.actions, plan.doomed)
        _say(talk, "restored", serial=serial)
    elif isinstance(command, Settle):
        _say(talk, "settled", serial=serial)
    elif isinstance(command, Call):
        _say(talk, "answer", _answer_packed(runners[command.slot].env, command), serial)
    return b""


def _answer_packed(env: SlotEnv, command: Call) -> bytes:
    args, kwargs = cloudpickle.loads(command.arguments)
    answered = answer(env, command.what, command.name, args, kwargs)
    try:
        return bytes(cloudpickle.dumps(answered))
    except Exception as error:
        words = f"its result, a {type(answered[1]).__name__}, cannot be sent back ({error})"
        return bytes(cloudpickle.dumps(("failed", words)))


def _hear(talk: Connection) -> Any:
    try:
        return talk.recv()
    except (EOFError, OSError):
        raise TrainerGoneError from None


def _say(talk: Connection, word: str, payload: Any = None, serial: int = 0) -> None:
    try:
        talk.send((word, serial, payload))
    except OSError:
        raise TrainerGoneError from None


def _ring(fd: int, message: bytes) -> None:
    try:
        os.write(fd, message)
    except OSError:
        raise TrainerGoneError from None


def _tell(talk: Connection, error: BaseException) -> None:
    """Say why this process ends."""
    try:
        is_memory = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        kind = "memory" if is_memory else "raised"
        talk.send(("raised", 0, (kind, type(error).__name__, str(error), traceback.format_exc())))
    except OSError:
        pass  # nobody listens any more
    except Exception:
        traceback.print_exc(file=sys.stderr)


def _limit_memory(limit_mb: int | None) -> None:
    if limit_mb is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit_mb << 20, limit_mb << 20))


def _die_with_parent(trainer_pid: int) -> None:
    """Have the kernel kill this process with its parent: reaches one that is stopped, or stuck in C code."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(Exception):
        import ctypes

        if os.getppid() != trainer_pid:  # the fork server, which lasts as long as anyone holds this descriptor
            from multiprocessing import forkserver

            os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG


def _watch_trainer(pid: int) -> None:
    """End this process when the trainer ends, even while an emulator spins for ever."""

    def wait() -> None:
        try:
            descriptor = os.pidfd_open(pid)
            select.select([descriptor], [], [])
        except (AttributeError, OSError, ValueError):
            while True:  # no pidfd here (macOS, old kernels)
                try:
                    os.kill(pid, 0)
                except OSError:
                    break
                time.sleep(1.0)
        os._exit(0)

    threading.Thread(target=wait, name="watch-trainer", daemon=True).start()

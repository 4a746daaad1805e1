"""A worker process: owns a range of slots, steps them when its bell rings."""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import cv2

from parcade.env.make import make
from parcade.env.slot import as_slot_env
from parcade.env.spec import EnvSpec
from parcade.pool.layout import SlabLayout
from parcade.pool.slab import Slab
from parcade.pool.stepping import Actions, SlotRunner

BELL = struct.Struct("<H")  # what rings: a group's number
TALK = BELL.pack(0xFFFF)  # a command waits on the other pipe
EXIT_AFTER_RAISE = 70


@dataclass(frozen=True, slots=True)
class WorkerOrders:
    """Everything a worker needs to know, picklable."""

    worker: int
    slots: range
    n_groups: int
    spec: EnvSpec
    run_seed: int
    slab_path: str
    layout: SlabLayout
    trainer_pid: int
    memory_limit_mb: int | None
    inherited_fds: tuple[int, ...]  # with fork: the trainer's ends of every pipe, which must be closed here


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring slots back: slot -> (episode, its actions so far); ``poisoned`` episodes are never begun."""

    slots: dict[int, tuple[int, Actions]]
    poisoned: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Finish:
    """Take the step under way in these slots of a group only; ``cut`` ends the episode of some instead."""

    group: int
    slots: tuple[int, ...]
    cut: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """Call a method of one slot's env, or get or set an attribute, and answer with the result."""

    slot: int
    what: str  # "call", "get" or "set"
    name: str
    args: tuple[Any, ...] = ()
    kwargs: tuple[tuple[str, Any], ...] = ()


def run_worker(orders: WorkerOrders, bell: Connection, talk: Connection) -> None:
    """Serve until the trainer closes the bell; an exception is told over ``talk`` and ends the process."""
    for fd in orders.inherited_fds:
        try:
            os.close(fd)
        except OSError:
            pass
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the trainer's to handle
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    cv2.setNumThreads(1)  # a worker has one core to itself
    _watch_trainer(orders.trainer_pid)
    _limit_memory(orders.memory_limit_mb)
    slab = Slab.attach(orders.slab_path, orders.layout)
    current = slab.arrays["current_slot"]
    current[orders.worker] = -1
    runners: dict[int, SlotRunner] = {}
    try:
        for slot in orders.slots:
            current[orders.worker] = slot
            slab.arrays["running_length"][slot] = -1  # a death before the first step is a death in reset
            env = as_slot_env(make(orders.spec))
            runners[slot] = SlotRunner(env, slab, slot, orders.worker, orders.run_seed)
            slab.arrays["beats"][orders.worker] += 1
        current[orders.worker] = -1
        talk.send("ready")
        _serve(orders, runners, bell, talk, lambda: current.__setitem__(orders.worker, -1))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the trainer has gone
    except BaseException as error:
        _tell(talk, error)
        os._exit(EXIT_AFTER_RAISE)
    for runner in runners.values():
        runner.env.close()


def _serve(
    orders: WorkerOrders,
    runners: dict[int, SlotRunner],
    bell: Connection,
    talk: Connection,
    idle: Callable[[], None],
) -> None:
    groups = [
        [runners[slot] for slot in orders.slots if slot % orders.n_groups == g] for g in range(orders.n_groups)
    ]
    fd, read, write = bell.fileno(), os.read, os.write
    while True:
        message = read(fd, BELL.size)
        if not message:
            return
        if message == TALK:
            _obey(talk.recv(), runners, bell, talk)
        else:
            for runner in groups[BELL.unpack(message)[0]]:
                runner.step()
            write(fd, message)
        idle()


def _obey(command: Any, runners: dict[int, SlotRunner], bell: Connection, talk: Connection) -> None:
    if isinstance(command, Restore):
        for slot, (episode, actions) in command.slots.items():
            runners[slot].poisoned = command.poisoned
            runners[slot].replay(episode, actions)
        talk.send("restored")
    elif isinstance(command, Finish):
        for slot in command.slots:
            if slot in command.cut:
                runners[slot].cut()
            else:
                runners[slot].step()
        os.write(bell.fileno(), BELL.pack(command.group))
    elif isinstance(command, Call):
        talk.send(_call(getattr(runners[command.slot].env, "env", runners[command.slot].env), command))


def _call(env: Any, command: Call) -> tuple[bool, Any]:
    """Return (True, result) or (False, words): a fault in a user's method must not end the worker."""
    try:
        if command.what == "set":
            setattr(env.unwrapped if hasattr(env, "unwrapped") else env, command.name, command.args[0])
            return True, None
        target = env.get_wrapper_attr(command.name) if hasattr(env, "get_wrapper_attr") else getattr(env, command.name)
        return True, target if command.what == "get" else target(*command.args, **dict(command.kwargs))
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"


def _tell(talk: Connection, error: BaseException) -> None:
    try:
        talk.send((type(error).__name__, str(error), traceback.format_exc()))
    except (OSError, ValueError):
        traceback.print_exc(file=sys.stderr)


def _limit_memory(limit_mb: int | None) -> None:
    if limit_mb is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit_mb << 20, limit_mb << 20))


def _watch_trainer(pid: int) -> None:
    """End this process when the trainer ends, even while an emulator spins for ever."""

    def wait() -> None:
        try:
            descriptor = os.pidfd_open(pid)
            select.select([descriptor], [], [])
        except (AttributeError, OSError):
            while True:  # no pidfd here (macOS, old kernels)
                try:
                    os.kill(pid, 0)
                except OSError:
                    break
                time.sleep(1.0)
        os._exit(0)

    threading.Thread(target=wait, name="watch-trainer", daemon=True).start()

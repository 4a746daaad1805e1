"""A worker process: owns a range of slots and takes the fragments that its step channel names."""

from __future__ import annotations

import contextlib
import errno
import os
import pickle
import sys
import traceback
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import cv2

from parcade.env.slot import SlotEnv
from parcade.env.spec import EnvSpec
from parcade.host.child_process import die_with_parent, end_with, ignore_interrupts, name_process
from parcade.pool.actor import Array
from parcade.pool.block import Block
from parcade.pool.calling import answer, apply_call
from parcade.pool.fragment import PACKED, Fragment, FragmentRunner
from parcade.pool.lifecycle import BEING_MADE
from parcade.pool.mapped import Layout, MappedArrays
from parcade.pool.same_spaces import SpaceMarks, check_same
from parcade.pool.seeding import Episodes
from parcade.pool.showcase import Showcase
from parcade.pool.stepping import Actions, SlotRunner, make_slot_env

CONTROL = Fragment(0xFF, 0, 0, 0, False).pack()  # in place of a fragment: a command waits on the control channel
EXIT_AFTER_RAISE = 70


@dataclass(frozen=True, slots=True)
class SharedFile:
    """Where a shared file is and how it is laid out."""

    path: str
    layout: Layout


@dataclass(frozen=True, slots=True)
class Attach:
    """Use these blocks and this actor from now on; the actor is cloudpickled, it may come from the user's script."""

    blocks: tuple[SharedFile, ...]
    metric_names: tuple[str, ...]
    spaces: SpaceMarks
    showcase: SharedFile
    actor: bytes | None = None


@dataclass(frozen=True, slots=True)
class WorkerOrders:
    """Everything a worker needs to know, picklable."""

    worker: int
    slots: range
    n_groups: int
    spec: EnvSpec
    episodes: Episodes
    trainer_pid: int
    memory_limit_mb: int | None = None
    cpu: int | None = None  # the only processor to run on
    status: SharedFile | None = None  # None: everything shared waits for the first worker to tell the env's spaces
    attach: Attach | None = None
    inherited_fds: tuple[int, ...] = ()  # with fork: the trainer's ends of every pipe, which must be closed here
    dies_with_parent: bool = False  # the parent process lasts as long as the trainer does


@dataclass(frozen=True, slots=True)
class SlotPlan:
    """Where a slot is brought: into an episode, after these actions, its observation into this row of a block.

    ``doomed``: its next step is cut. ``recorded``: the row holds what was seen there before, after this return.
    """

    episode: int
    actions: Actions
    block: int
    row: int
    doomed: bool = False
    recorded: float | None = None


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring slots back; ``poisoned`` episodes are never begun, ``attributes`` of the user's are set again."""

    episodes: Episodes
    slots: dict[int, SlotPlan]
    poisoned: frozenset[tuple[int, int]]
    attributes: dict[int, dict[str, bytes]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Announce:
    """Begin these episodes from now on."""

    episodes: Episodes


@dataclass(frozen=True, slots=True)
class Flush:
    """Say that every fragment before is done."""


@dataclass(frozen=True, slots=True)
class Call:
    """Reach the envs of some slots (see ``calling``) and answer with the results; arguments are cloudpickled."""

    slots: tuple[int, ...]
    what: str
    name: str
    arguments: bytes


class TrainerGoneError(Exception):
    """The other end of a pipe is closed."""


def run_worker(packed: bytes, steps: Connection, control: Connection) -> None:
    """Serve until the trainer closes the channels; an exception is told over ``control`` and ends the process."""
    ignore_interrupts()
    envs: list[SlotEnv] = []
    try:
        orders: WorkerOrders = cloudpickle.loads(packed)
        _prepare_process(orders)
        worker = _Worker(orders, envs, control)
        _say(control, "ready")
        worker.serve(steps)
    except TrainerGoneError:
        pass
    except BaseException as error:
        _tell(control, error)
        os._exit(EXIT_AFTER_RAISE)
    for env in envs:
        env.close()


def _prepare_process(orders: WorkerOrders) -> None:
    """Let go of what belongs to others, and make sure this process ends with the trainer."""
    for fd in orders.inherited_fds:
        with contextlib.suppress(OSError):
            os.close(fd)
    label = orders.spec.label
    name_process(f"parcade {orders.worker}:{label}", f"parcade worker {orders.worker}: {label}")
    cv2.setNumThreads(1)  # a worker has one core to itself
    if orders.cpu is not None:
        with contextlib.suppress(OSError):  # taken away meanwhile: run anywhere
            os.sched_setaffinity(0, {orders.cpu})
    if orders.dies_with_parent:
        die_with_parent(orders.trainer_pid)
    end_with(orders.trainer_pid)
    _limit_memory(orders.memory_limit_mb)


class _Worker:
    """The envs of some slots, and what they write to."""

    def __init__(self, orders: WorkerOrders, envs: list[SlotEnv], control: Connection) -> None:
        self._control, status, attach = control, orders.status, orders.attach
        if status is None or attach is None:
            envs.append(make_slot_env(orders.spec, orders.slots[0]))
            first = envs[0]
            shape = first.observation_space, first.action_space, first.metric_names
            _say(control, "spaces", cloudpickle.dumps(shape))
            status, attach = _hear(control)
        self._mapped = MappedArrays.attach(status.path, status.layout)
        self._status: dict[str, Array] = self._mapped.arrays
        blocks = self._blocks_of(attach)
        runners = [self._runner(orders, slot, envs, blocks[0], attach.spaces) for slot in orders.slots]
        self._status["current_slot"][orders.worker] = -1
        showcase = Showcase.attach(attach.showcase.path, attach.showcase.layout)
        self._fragments = FragmentRunner(runners, orders.n_groups, self._status, orders.worker, showcase)
        self._attach(attach, blocks)

    def _runner(
        self, orders: WorkerOrders, slot: int, envs: list[SlotEnv], block: Block, first: SpaceMarks
    ) -> SlotRunner:
        self._status["current_slot"][orders.worker] = slot
        self._status["running_length"][slot] = BEING_MADE
        at = slot - orders.slots.start
        if at == len(envs):
            envs.append(make_slot_env(orders.spec, slot))
        check_same(envs[at], slot, first)
        self._status["beats"][orders.worker] += 1
        return SlotRunner(envs[at], slot, orders.worker, orders.episodes, self._status, block)

    def _blocks_of(self, attach: Attach) -> list[Block]:
        mapped = [MappedArrays.attach(block.path, block.layout) for block in attach.blocks]
        return [Block(arrays, attach.metric_names) for arrays in mapped]

    def _attach(self, attach: Attach, blocks: list[Block]) -> None:
        self._fragments.attach(blocks, None if attach.actor is None else cloudpickle.loads(attach.actor))
        if (torch := sys.modules.get("torch")) is not None:  # the actor brought it along
            torch.set_num_threads(1)  # a worker has one core to itself

    def serve(self, steps: Connection) -> None:
        """Take fragments and commands in the order in which they come."""
        fd = steps.fileno()
        while True:
            message = _read(fd)
            if message == CONTROL:
                self._obey(*_hear(self._control))
            else:
                fragment = Fragment.unpack(message)
                self._fragments.run(fragment)
                _write(fd, message)

    def _obey(self, serial: int, command: Any) -> None:
        if isinstance(command, Restore):
            others = [slot for slot, plan in command.slots.items() if not self._restore(slot, plan, command)]
            _say(self._control, "restored", others, serial)
        elif isinstance(command, Attach):
            self._attach(command, self._blocks_of(command))
        elif isinstance(command, Announce):
            for runner in self._fragments.runners.values():
                runner.episodes = command.episodes
        elif isinstance(command, Flush):
            _say(self._control, "flushed", serial=serial)
        elif isinstance(command, Call):
            runners = [self._fragments.runners[slot] for slot in command.slots]
            _say(self._control, "answer", _answers_packed(runners, command), serial)

    def _restore(self, slot: int, plan: SlotPlan, command: Restore) -> bool:
        """Bring a slot back; return whether it shows what it showed there before."""
        runner = self._fragments.runners[slot]
        runner.episodes, runner.poisoned = command.episodes, command.poisoned
        for name, value in command.attributes.get(slot, {}).items():
            apply_call(runner.env, "set", name, (cloudpickle.loads(value),), {})
        runner.attach(self._fragments.blocks[plan.block])
        is_same = runner.replay(plan.episode, plan.actions, plan.row, doomed=plan.doomed, recorded=plan.recorded)
        self._status["current_slot"][self._fragments.worker] = -1
        return is_same


def _answers_packed(runners: list[SlotRunner], command: Call) -> bytes:
    args, kwargs = cloudpickle.loads(command.arguments)
    answers = [answer(runner, command.what, command.name, args, kwargs) for runner in runners]
    try:
        return bytes(pickle.dumps(answers, pickle.HIGHEST_PROTOCOL))  # many times quicker, for what it can carry
    except Exception:
        return bytes(cloudpickle.dumps([_sendable(answered) for answered in answers]))


def _sendable(answered: tuple[str, Any]) -> tuple[str, Any]:
    try:
        cloudpickle.dumps(answered)
        return answered
    except Exception as error:
        return "failed", f"its result, a {type(answered[1]).__name__}, cannot be sent back ({error})"


def _hear(control: Connection) -> Any:
    try:
        return control.recv()
    except (EOFError, OSError):
        raise TrainerGoneError from None


def _say(control: Connection, word: str, payload: Any = None, serial: int = 0) -> None:
    try:
        control.send((word, serial, payload))
    except OSError:
        raise TrainerGoneError from None


def _read(fd: int) -> bytes:
    try:
        message = os.read(fd, PACKED.size)
    except OSError:
        message = b""
    if not message:
        raise TrainerGoneError
    return message


def _write(fd: int, message: bytes) -> None:
    try:
        os.write(fd, message)
    except OSError:
        raise TrainerGoneError from None


def _tell(control: Connection, error: BaseException) -> None:
    """Say why this process ends."""
    try:
        is_memory = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        kind = "memory" if is_memory else "raised"
        control.send(("raised", 0, (kind, type(error).__name__, str(error), traceback.format_exc())))
    except OSError:
        pass  # nobody listens any more
    except Exception:
        traceback.print_exc(file=sys.stderr)


def _limit_memory(limit_mb: int | None) -> None:
    if limit_mb is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit_mb << 20, limit_mb << 20))

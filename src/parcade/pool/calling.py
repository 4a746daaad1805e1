"""Methods and attributes of one slot's env, reached from outside a step; the same in both pools."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from parcade.env.check import quick_faults
from parcade.env.check_values import Fault
from parcade.env.slot import CopyingSlotEnv, SlotEnv
from parcade.errors import PoolError, SettingsError
from parcade.pool.stepping import SlotRunner

# value: what a method of no arguments returns, or an attribute; info: what the env told last, and at its last end;
# check: what is wrong with the env, found by playing it, after which the slot must be reset
WHATS = ("call", "get", "value", "set", "has", "wrapped", "info", "check")


def apply_call(slot_env: SlotEnv, what: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Do ``what`` with the env: call method ``name``, get, set or find attribute ``name``, or find a wrapper on it."""
    env = _user_env(slot_env)
    if what == "has":
        return bool(env.has_wrapper_attr(name))
    if what == "wrapped":
        return _is_wrapped(env, args[0])
    if what == "set":
        env.set_wrapper_attr(name, args[0])
        return None
    found = env.get_wrapper_attr(name)
    is_call = what == "call" or (what == "value" and callable(found))
    return found(*args, **kwargs) if is_call else found


def _user_env(slot_env: SlotEnv) -> Any:
    return slot_env.env if isinstance(slot_env, CopyingSlotEnv) else slot_env


def _is_wrapped(env: Any, wrapper: type) -> bool:
    while isinstance(env, gym.Wrapper):
        if isinstance(env, wrapper):
            return True
        env = env.env
    return False


def answer(runner: SlotRunner, what: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, Any]:
    """Return ("fine", result), ("missing", words) or ("failed", words): a fault of the user's ends no worker."""
    try:
        if what == "info":
            return "fine", (runner.info, runner.final_info)
        if what == "check":
            return "fine", _looked_at(runner)
        if what in ("call", "get", "value") and not apply_call(runner.env, "has", name, (), {}):
            return "missing", f"the env has no attribute {name!r}"
        return "fine", apply_call(runner.env, what, name, args, kwargs)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"


def _looked_at(runner: SlotRunner) -> list[Fault]:
    try:
        return quick_faults(_user_env(runner.env), runner.slot, runner.note_play)
    finally:
        runner.note_play("")


def result(slot: int, what: str, name: str, answered: tuple[str, Any]) -> Any:
    """Return the result of an answer, or raise: AttributeError for what is missing, PoolError for what failed."""
    how, value = answered
    if how == "missing":
        raise AttributeError(f"{value} (slot {slot})")
    if how == "failed":
        raise PoolError(f"{what} {name!r} in slot {slot} failed: {value}")
    return value


def check_call(what: str, slot: int, n_envs: int) -> None:
    """Refuse what no pool can do."""
    if what not in WHATS:
        raise SettingsError(f"what is {what!r}, wanted one of {', '.join(WHATS)}")
    if not 0 <= slot < n_envs:
        raise SettingsError(f"slot is {slot}, wanted 0 to {n_envs - 1}")

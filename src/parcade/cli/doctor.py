"""Check what is installed, what is missing, how to get it, and what this machine can do.

The exit code is 0 if training works here and 1 if something is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import warnings
from dataclasses import asdict, dataclass
from importlib import import_module, metadata
from pathlib import Path

from parcade.config.track_fields import TRACKER_NAMES
from parcade.host.cores import usable_cores

# What tells that an extra is installed, and what it is for; trackers are told one by one.
EXTRAS = {
    "racing": ("Box2D", "CarRacing"),
    "atari": ("ale_py", "Atari games"),
    "view": ("pygame", "windows: parcade play"),
    "retro": ("stable_retro", "more consoles"),
    "export": ("onnxscript", "parcade export --to onnx"),
    "sweep": ("optuna", "parcade sweep"),
    "guide": ("llama_cpp", "parcade guide write, --coach"),
    "cluster": ("ray", "parcade train --cluster"),
    "sb3": ("stable_baselines3", "Stable-Baselines3 on our pool"),
    "docs": ("sphinx", "make docs"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the diagnosis."""

    what: str
    state: str  # "ok", "missing" (something works less well), "optional" (not there) or "bad" (training does not work)
    detail: str


def add_flags(parser: argparse.ArgumentParser) -> None:
    """No flags of its own."""


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; 1 if one of them is bad."""
    findings = examine()
    healthy = all(finding.state != "bad" for finding in findings)
    if arguments.json:
        print(json.dumps({"healthy": healthy, "findings": [asdict(finding) for finding in findings]}))
    else:
        for finding in findings:
            print(f"{finding.state:<8} {finding.what:<18} {finding.detail}")
        print(
            "\nTraining works on this machine."
            if healthy
            else "\nTraining does not work until the bad lines are mended."
        )
    return 0 if healthy else 1


def examine() -> list[Finding]:
    """Return all findings."""
    return [*_packages(), *_machine(), _emulation("lantern", "bad"), _emulation("meadow", "missing")]


def _packages() -> list[Finding]:
    findings = [Finding("python", "ok", platform.python_version())]
    for name, module in (("torch", "torch"), ("gymnasium", "gymnasium"), ("pyboy", "pyboy"), ("opencv", "cv2")):
        findings.append(_package(name, module, "bad", "pip install parcade"))
    findings.append(
        _package(
            "mgba",
            "mgba.core",
            "missing",
            "GBA games need it: Python 3.10 or 3.11, and on Debian `apt install libmgba0.10`",
        )
    )
    for extra, (module, purpose) in EXTRAS.items():
        findings.append(_package(extra, module, "optional", f"{purpose}; pip install 'parcade[{extra}]'"))
    for tracker in TRACKER_NAMES:  # of the extra `track`; importing them takes seconds
        findings.append(_tracker(tracker))
    return findings


def _tracker(name: str) -> Finding:
    try:
        return Finding(name, "ok", metadata.version(name))
    except metadata.PackageNotFoundError:
        return Finding(name, "optional", f"--track {name}; pip install {name}, or all trackers: 'parcade[track]'")


def _package(name: str, module: str, otherwise: str, advice: str) -> Finding:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import_module(module)
    except Exception as error:
        why = "" if otherwise == "optional" else f" ({type(error).__name__}: {str(error).splitlines()[0]})"
        return Finding(name, otherwise, f"{advice}{why}")
    top = module.partition(".")[0]
    owners = metadata.packages_distributions().get(top, [top])
    try:
        return Finding(name, "ok", metadata.version(owners[0]))
    except metadata.PackageNotFoundError:
        return Finding(name, "ok", "installed")


def _machine() -> list[Finding]:
    findings = [Finding("cores", "ok", _cores())]
    findings += [Finding("memory", "ok", text) for text in _memory()]
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        enough = soft >= 1024
        advice = "" if enough else "; raise it with `ulimit -n 4096` for many workers"
        findings.append(Finding("open files", "ok" if enough else "missing", f"{soft} (limit {hard}){advice}"))
    shared = Path("/dev/shm")
    if shared.is_dir():
        free = shutil.disk_usage(shared).free >> 20
        enough = free > 64
        findings.append(Finding("shared memory", "ok" if enough else "bad", f"{free:,} MiB free in {shared}"))
    free = shutil.disk_usage(Path.cwd()).free >> 20
    findings.append(Finding("disk", "ok" if free > 200 else "bad", f"{free:,} MiB free in this folder"))
    return findings


def _cores() -> str:
    usable, there = usable_cores(), os.cpu_count()
    return str(there) if usable == there else f"{usable} of {there} may be used"


def _memory() -> list[str]:
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    except OSError:
        return []
    free, total = (int(lines[key].split()[0]) >> 10 for key in ("MemAvailable", "MemTotal"))
    return [f"{free:,} MiB free of {total:,}"]


def _emulation(game: str, otherwise: str) -> Finding:
    """Play a few steps of a built-in game: the one test that says that all of its console works."""
    system = {"lantern": "Game Boy", "meadow": "Game Boy Advance"}[game]
    try:
        from parcade.api import make_env

        env = make_env(game)
        env.reset(seed=1)
        for _ in range(10):
            env.step(1)
        env.close()
    except Exception as error:
        return Finding(game, otherwise, f"the built-in {system} game does not run: {error}")
    return Finding(game, "ok", f"the built-in {system} game runs")

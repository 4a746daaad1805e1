"""ROMs and save states on their way to nodes: by content, checked by hash, in a folder of the learner's own."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from parcade.env.make import save_state_files
from parcade.env.spec import EnvSpec
from parcade.errors import RunError

_PREFIX = "parcade-node-"


class Sent(NamedTuple):
    """The files of an env: names, and the hashes of what they hold."""

    rom: tuple[str, str] | None
    states: tuple[tuple[str, str], ...]
    in_folder: bool  # the save states are those of a folder


def packed(spec: EnvSpec) -> tuple[Sent, dict[str, bytes]]:
    """Return the files that an env is made of, and their contents by hash."""
    contents: dict[str, bytes] = {}

    def take(path: Path) -> tuple[str, str]:
        data = path.read_bytes()
        digest = sha256(data).hexdigest()
        contents[digest] = data
        return path.name, digest

    rom = None if spec.rom is None else take(Path(spec.rom))
    states = tuple(take(path) for path in save_state_files(spec.state))
    return Sent(rom, states, spec.state is not None and Path(spec.state).is_dir()), contents


class SentFiles:
    """The files of an env in Ray's object store; what is lost there is sent again."""

    def __init__(self, ray: Any, spec: EnvSpec) -> None:
        self._ray = ray
        self.sent, self._contents = packed(spec)
        self.refs: dict[str, Any] = {}
        self.send_again()

    def send_again(self) -> None:
        """Put all files into the store."""
        self.refs = {digest: self._ray.put(data) for digest, data in self._contents.items()}


class NodeFiles:
    """The files of one learner; closing removes them."""

    def __init__(self, sent: Sent, contents: Mapping[str, bytes]) -> None:
        sweep_folders()
        self.folder: Path | None = None
        if sent.rom is not None or sent.states:
            self.folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._sent, self._contents = sent, contents

    def unpacked(self, spec: EnvSpec) -> EnvSpec:
        """Return the spec with the files of this folder."""
        changes = {}
        if self._sent.rom is not None:
            changes["rom"] = str(self._written("rom", *self._sent.rom))
        if self._sent.states:
            paths = [self._written("states", *one) for one in self._sent.states]
            changes["state"] = str(paths[0].parent if self._sent.in_folder else paths[0])
        return spec.with_(**changes) if changes else spec

    def _written(self, below: str, name: str, digest: str) -> Path:
        data = self._contents[digest]
        found = sha256(data).hexdigest()
        if found != digest:
            raise RunError(f"{name} has SHA-256 {found[:12]}…, expected {digest[:12]}…")
        assert self.folder is not None
        path = self.folder / below / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path

    def close(self) -> None:
        """Remove the folder; twice is fine."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def sweep_folders() -> None:
    """Remove folders whose learner was killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        pid = path.name[len(_PREFIX) :].partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists() and Path("/proc/self").exists():
            with contextlib.suppress(OSError):
                if path.stat().st_uid == os.getuid():
                    shutil.rmtree(path, ignore_errors=True)

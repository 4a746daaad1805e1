"""Trackers for the tests, each a class that the tracker's process imports: they write what they are told to a file."""

import json
import os
import time
from pathlib import Path


class FileTracker:
    """Writes each call as a line of JSON to the file that TRACKED_FILE names."""

    def _write(self, *words):
        with Path(os.environ["TRACKED_FILE"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(words) + "\n")

    def open(self, entry):
        self._write("open", entry.id, entry.name, entry.settings)
        return entry.id or "entry-1"

    where = "a file"

    def log(self, env_steps, values):
        self._write("log", env_steps, values)

    def add_video(self, path, env_steps):
        self._write("video", str(path), env_steps)

    def add_model(self, path):
        self._write("model", str(path))

    def close(self, state, results):
        self._write("close", state, results)


class HangingTracker(FileTracker):
    """Never comes back from its second point."""

    def log(self, env_steps, values):
        super().log(env_steps, values)
        if env_steps >= 2:
            time.sleep(1000)


class FailingTracker(FileTracker):
    """Refuses every point."""

    def log(self, env_steps, values):
        raise ConnectionError("the server is gone")


class ClosedDoorTracker(FileTracker):
    """Cannot even be opened."""

    def open(self, entry):
        raise ConnectionError("no server at 127.0.0.1:1")


class DyingTracker(FileTracker):
    """Takes its process with it."""

    def log(self, env_steps, values):
        os.kill(os.getpid(), 9)

"""What is written down while a run goes on: metrics.jsonl, TensorBoard, one monitor CSV per slot."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

WINDOW = 100  # episodes a mean is taken over
SLOT_WINDOW = 10


class Recorder:
    """Appends to the run's files; ``state`` and ``load`` carry the windows and file ends over a resume."""

    def __init__(self, metrics: Path, monitor: Path, logs: Path, n_slots: int, metric_names: tuple[str, ...]) -> None:
        self.metric_names = metric_names
        self.episodes = 0
        self._window: deque[list[float]] = deque(maxlen=WINDOW)
        self._slots: list[deque[float]] = [deque(maxlen=SLOT_WINDOW) for _ in range(n_slots)]
        self._metrics: IO[str] = open(metrics, "a", encoding="utf-8")  # noqa: SIM115
        self._monitor_folder = monitor
        self._monitors: dict[int, IO[str]] = {}
        self._board = _Board(logs)
        self._n_slots = n_slots

    def episode(self, slot: int, total: float, length: int, metrics: Mapping[str, float], env_steps: int) -> None:
        """Note one finished episode."""
        self.episodes += 1
        self._window.append([total, float(length), *(metrics[name] for name in self.metric_names)])
        self._slots[slot].append(total)
        values = ",".join(f"{metrics[name]:g}" for name in self.metric_names)
        file = self._monitors.get(slot) or self._open_monitor(slot)
        file.write(f"{total:.6g},{length},{env_steps}{',' if values else ''}{values}\n")

    def _open_monitor(self, slot: int) -> IO[str]:
        path = self._monitor_folder / f"env_{slot}.csv"
        is_new = not path.exists()
        file = open(path, "a", encoding="utf-8")  # noqa: SIM115
        if is_new:
            file.write(",".join(["return", "length", "env_steps", *self.metric_names]) + "\n")
        self._monitors[slot] = file
        return file

    def means(self) -> dict[str, Any]:
        """Return the means over the last episodes; None where none has ended."""
        columns = list(zip(*self._window, strict=True))
        means = [sum(column) / len(column) for column in columns] or [None] * (2 + len(self.metric_names))
        game = dict(zip(self.metric_names, means[2:], strict=True))
        return {
            "return_mean": means[0],
            "length_mean": means[1],
            "success_rate": game.pop("success", None),
            "game": game,
        }

    def update(self, row: dict[str, Any]) -> None:
        """Write one update's row to metrics.jsonl and TensorBoard."""
        self._metrics.write(json.dumps(row) + "\n")
        self._metrics.flush()
        self._board.write(row["env_steps"], board_values(row, self._slots))

    def state(self) -> dict[str, Any]:
        """Return all that a resumed run needs to go on as if nothing had happened."""
        for file in self._monitors.values():
            file.flush()
        self._metrics.flush()
        monitors = {str(slot): file.tell() for slot, file in self._monitors.items()}
        return {
            "episodes": self.episodes,
            "window": list(self._window),
            "slots": [list(slot) for slot in self._slots],
            "metrics_end": self._metrics.tell(),
            "monitor_ends": monitors,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Go back to ``state``: what was written after it is cut off."""
        self.episodes = state["episodes"]
        self._window = deque(state["window"], maxlen=WINDOW)
        self._slots = [deque(slot, maxlen=SLOT_WINDOW) for slot in state["slots"]]
        self._metrics.truncate(state["metrics_end"])
        self._metrics.seek(0, 2)
        for path in self._monitor_folder.glob("env_*.csv"):
            slot = path.stem.removeprefix("env_")
            end = state["monitor_ends"].get(slot)
            if end is None:
                path.unlink()
            else:
                file = self._open_monitor(int(slot))  # the next state must know its end, rows to come or not
                file.truncate(end)
                file.seek(0, 2)

    def close(self) -> None:
        """Close all files; twice is fine."""
        self._metrics.close()
        for file in self._monitors.values():
            file.close()
        self._board.close()


def board_values(row: Mapping[str, Any], slots: Iterable[Iterable[float]]) -> dict[str, float]:
    """Return TensorBoard's names and values for one row of metrics; docs/metrics.md explains each."""
    values: dict[str, Any] = {
        "rollout/ep_rew_mean": row.get("return_mean"),
        "rollout/ep_len_mean": row.get("length_mean"),
        "rollout/success_rate": row.get("success_rate"),
    }
    values |= {f"game/{name}": value for name, value in row.get("game", {}).items()}
    values |= {f"train/{name}": value for name, value in row.get("losses", {}).items()}
    values |= {f"time/{name}": value for name, value in row.get("time", {}).items()}
    values |= {f"eval/{name}": value for name, value in (row.get("eval") or {}).items()}
    for index, rewards in enumerate(slots):
        kept = list(rewards)
        if kept:
            values[f"rollout/ep_rew_mean_env_{index}"] = sum(kept) / len(kept)
    return {name: float(value) for name, value in values.items() if value is not None}


class _Board:
    """TensorBoard events, written through its own writer (no torch here)."""

    def __init__(self, folder: Path) -> None:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._writer = EventFileWriter(str(folder), flush_secs=10)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        summary = Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()])
        self._writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))

    def close(self) -> None:
        self._writer.close()

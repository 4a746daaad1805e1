"""What is written down while a run goes on: metrics.jsonl, TensorBoard, one monitor CSV per slot."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from parcade.errors import ModelFileError
from parcade.host.input_file import parse_json
from parcade.run.flat_settings import flat_settings
from parcade.run.rows import RowFile
from parcade.run.tensorboard_writer import TensorBoardWriter

WINDOW = 100  # episodes a mean is taken over
LARGEST = 1 << 62  # whole number in a checkpoint's record
SLOT_WINDOW = 10


class Recorder:
    """Appends to the run's files; ``state`` and ``load`` carry the windows and file ends over a resume."""

    def __init__(self, metrics: Path, monitor: Path, logs: Path, n_slots: int, metric_names: tuple[str, ...]) -> None:
        self.metric_names = metric_names
        self.episodes = 0
        self._window: deque[list[float | None]] = deque(maxlen=WINDOW)
        self._slots: list[deque[float]] = [deque(maxlen=SLOT_WINDOW) for _ in range(n_slots)]
        self._metrics = RowFile(metrics)
        self._monitor_folder = monitor
        monitor.mkdir(exist_ok=True)
        self._monitors: dict[int, RowFile] = {}
        self._tensorboard = TensorBoardWriter(logs)
        self._n_slots = n_slots

    def episode(self, slot: int, total: float, length: int, metrics: Mapping[str, float], env_steps: int) -> None:
        """Note one finished episode."""
        self.episodes += 1
        told = [metrics.get(name) for name in self.metric_names]  # None: the env did not say
        self._window.append([total, float(length), *told])
        self._slots[slot].append(total)
        values = ",".join("" if value is None else f"{value:g}" for value in told)
        file = self._monitors.get(slot) or self._open_monitor(slot)
        file.add(f"{total:.6g},{length},{env_steps}{',' if told else ''}{values}")

    def _open_monitor(self, slot: int) -> RowFile:
        path = self._monitor_folder / f"env_{slot}.csv"
        is_new = not path.exists()
        file = self._monitors[slot] = RowFile(path)
        if is_new:
            file.add(",".join(["return", "length", "env_steps", *self.metric_names]))
        return file

    def means(self) -> dict[str, Any]:
        """Return the means over the last episodes that told a number; None where none did."""
        columns = list(zip(*self._window, strict=True)) or [()] * (2 + len(self.metric_names))
        total, length, *told = (_mean([value for value in column if value is not None]) for column in columns)
        game = dict(zip(self.metric_names, told, strict=True))
        success = game.pop("success", None)
        return {"return_mean": total, "length_mean": length, "success_rate": success, "game": game}

    def update(self, row: dict[str, Any]) -> dict[str, float]:
        """Write one update's row to metrics.jsonl and TensorBoard; return its points by TensorBoard's names."""
        self._metrics.add(json.dumps(row))
        self._metrics.flush()
        values = tensorboard_values(row, self._slots)
        self._tensorboard.write(row["env_steps"], values)
        return values

    def hyperparameters(self, settings: Mapping[str, Any]) -> None:
        """Write the settings to TensorBoard, whose page for hyperparameters shows them beside the results."""
        self._tensorboard.write_hyperparameters(flat_settings(settings))

    def final_evaluation(self, row: dict[str, Any]) -> None:
        """Write the evaluation at the end: a row of its own, behind that of the last update."""
        self._metrics.add(json.dumps(row))
        self._metrics.flush()
        new = {name: value for name, value in row.get("time", {}).items() if name != "seconds"}  # the update told those
        self._tensorboard.write(row["env_steps"], tensorboard_values({**row, "time": new}, ()))

    def state(self) -> dict[str, Any]:
        """Return all that a resumed run needs to go on as if nothing had happened; raise if rows cannot be written."""
        monitors = {str(slot): file.end() for slot, file in self._monitors.items()}
        return {
            "episodes": self.episodes,
            "window": list(self._window),
            "slots": [list(slot) for slot in self._slots],
            "metrics_end": self._metrics.end(),
            "monitor_ends": monitors,
            "board_ends": self._tensorboard.ends(),
        }

    def check(self, state: Mapping[str, Any]) -> None:
        """Raise ModelFileError unless ``load`` can take ``state``: it comes from a file."""
        width = 2 + len(self.metric_names)
        ends = (state["metrics_end"], *state["monitor_ends"].values(), *state.get("board_ends", {}).values())
        fits = (
            all(type(count) is int and 0 <= count <= LARGEST for count in (state["episodes"], *ends))
            and all(slot.isdecimal() and int(slot) < self._n_slots for slot in state["monitor_ends"])
            and all(2 <= len(row) <= width and _are_numbers(row, or_none=True) for row in state["window"])
            and len(state["slots"]) == self._n_slots
            and all(_are_numbers(slot) for slot in state["slots"])
        )
        if not fits:
            raise ModelFileError("its record of episodes does not belong to this run")

    def load(self, state: Mapping[str, Any]) -> None:
        """Go back to ``state``: what was written after it is cut off."""
        self.episodes = state["episodes"]
        width = 2 + len(self.metric_names)  # a run begun before an env had metrics knew fewer
        self._window = deque(([*row, *[None] * (width - len(row))] for row in state["window"]), maxlen=WINDOW)
        self._slots = [deque(slot, maxlen=SLOT_WINDOW) for slot in state["slots"]]
        self._metrics.cut(state["metrics_end"])
        if "board_ends" in state:  # checkpoints of before name none
            self._tensorboard.cut(state["board_ends"])
        for path in self._monitor_folder.glob("env_*.csv"):
            if path.stem.removeprefix("env_") not in state["monitor_ends"]:
                path.unlink()
        for slot, end in state["monitor_ends"].items():
            file = self._monitors.get(int(slot)) or self._open_monitor(int(slot))
            file.cut(end)  # and the next state knows its end, rows to come or not

    def close(self) -> None:
        """Close all files; twice is fine."""
        self._metrics.close()
        for file in self._monitors.values():
            file.close()
        self._tensorboard.close()


def _are_numbers(values: Any, or_none: bool = False) -> bool:
    """Whether ``values`` are a list of numbers with which one can calculate."""
    kinds = (int, float, type(None)) if or_none else (int, float)
    fits = isinstance(values, list) and all(type(value) in kinds for value in values)
    return fits and all(abs(value) <= LARGEST for value in values if type(value) is int)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def read_rows(metrics: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a metrics.jsonl; a damaged line is passed over."""
    for line in metrics.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            row = parse_json(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


def tensorboard_values(row: Mapping[str, Any], slots: Iterable[Iterable[float]]) -> dict[str, float]:
    """Return TensorBoard's names and values for one row of metrics; docs/metrics.md explains each."""
    values: dict[str, Any] = {
        "rollout/ep_rew_mean": row.get("return_mean"),
        "rollout/ep_len_mean": row.get("length_mean"),
        "rollout/success_rate": row.get("success_rate"),
    }
    running = row.get("running") or {}
    values |= {f"rollout/running_{name}": value for name, value in running.items()}
    values |= {f"game/{name}": value for name, value in row.get("game", {}).items()}
    values |= {f"train/{name}": value for name, value in row.get("losses", {}).items()}
    values |= {f"explore/{name}": value for name, value in row.get("explore", {}).items()}
    values |= {f"time/{name}": value for name, value in row.get("time", {}).items()}
    values |= {f"eval/{name}": value for name, value in (row.get("eval") or {}).items()}
    for index, rewards in enumerate(slots):
        kept = list(rewards)
        if kept:
            values[f"rollout/ep_rew_mean_env_{index}"] = sum(kept) / len(kept)
    return {name: float(value) for name, value in values.items() if value is not None}

"""Parts of TensorBoard that are not public: each is tried once, and a run goes on without what is gone."""

from __future__ import annotations

import io
from functools import cache
from typing import Any, NamedTuple

_AROUND = 16  # bytes of a record beside its data: the length, and two checksums


class Records(NamedTuple):
    """The classes that make a TensorBoard file."""

    event: Any
    summary: Any
    writer: Any


@cache
def record_parts() -> Records | None:
    """Return what writes records; None where it is gone or writes another form."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        point = Summary(value=[Summary.Value(tag="a", simple_value=1.0)])
        data, file = Event(wall_time=1.0, step=1, summary=point).SerializeToString(), io.BytesIO()
        RecordWriter(file).write(data)
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
    written = file.getvalue()
    is_record = len(written) == len(data) + _AROUND and written[12:-4] == data
    return Records(Event, Summary, RecordWriter) if is_record else None


@cache
def hyperparameter_parts() -> Any:
    """Return TensorBoard's module for its page of hyperparameters; None where it is not as known."""
    try:
        from tensorboard.plugins.hparams import summary_v2 as hparams

        hparams.hparams_config_pb([hparams.HParam("a")], [hparams.Metric("b")])
        hparams.hparams_pb({"a": 1}, trial_id="c")
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
    return hparams

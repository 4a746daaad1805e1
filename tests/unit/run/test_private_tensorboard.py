"""What is not public in TensorBoard may be gone in its next release: a run goes on without curves, and says so."""

import importlib

import pytest

from parcade.run.tensorboard_writer import TensorBoardWriter

RECORDS = "tensorboard.summary.writer.record_writer"
HPARAMS = "tensorboard.plugins.hparams.summary_v2"


@pytest.fixture(autouse=True)
def probed_anew():
    from parcade.run import private_tensorboard

    probes = (private_tensorboard.record_parts, private_tensorboard.hyperparameter_parts)
    for probe in probes:
        probe.cache_clear()
    yield probes
    for probe in probes:
        probe.cache_clear()


def test_this_tensorboard_has_them_all(probed_anew):
    assert all(probe() is not None for probe in probed_anew)


class OtherRecords:
    """Writes records in another form."""

    def __init__(self, file):
        self._file = file

    def write(self, data):
        self._file.write(data)


@pytest.mark.parametrize("other", [None, OtherRecords], ids=["gone", "changed"])
def test_without_its_records_a_run_has_no_curves(other, monkeypatch, tmp_path, caplog):
    if other is None:
        monkeypatch.delattr(f"{RECORDS}.RecordWriter")
    else:
        monkeypatch.setattr(f"{RECORDS}.RecordWriter", other)
    writer = TensorBoardWriter(tmp_path / "logs")
    writer.write(16, {"time/seconds": 1.0})
    writer.write_hyperparameters({"n_envs": 16})
    writer.cut(writer.ends())
    writer.close()
    assert writer.ends() == {}
    (record,) = caplog.records
    assert "does not write records as before; this run has no curves in logs/" in record.message


def test_without_its_hyperparameters_a_run_has_curves_only(monkeypatch, tmp_path, caplog):
    monkeypatch.delattr(importlib.import_module(HPARAMS), "hparams_pb")
    writer = TensorBoardWriter(tmp_path / "logs")
    writer.write_hyperparameters({"n_envs": 16})
    writer.write(16, {"time/seconds": 1.0})
    writer.close()
    assert sum(writer.ends().values()) > 0
    (record,) = caplog.records
    assert "has no page of hyperparameters as before; this run is not on it" in record.message

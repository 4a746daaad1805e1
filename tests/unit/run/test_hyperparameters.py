"""TensorBoard's own reader finds a run's settings beside its results."""

from parcade.run.metrics import Recorder
from parcade.run.tensorboard_writer import RESULTS, TensorBoardWriter


def hparams_in(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import metadata, plugin_data_pb2

    found = EventAccumulator(str(folder))
    found.Reload()
    data = found.PluginTagToContent(metadata.PLUGIN_NAME)
    return {tag: plugin_data_pb2.HParamsPluginData.FromString(content) for tag, content in data.items()}


def test_settings_and_the_names_of_results_are_written(tmp_path):
    writer = TensorBoardWriter(tmp_path / "logs")
    writer.write_hyperparameters({"learning_rate": 0.001, "game": "lantern", "overlap": False, "n_envs": 16})
    writer.close()
    found = hparams_in(tmp_path / "logs")
    start = found["_hparams_/session_start_info"].session_start_info
    assert start.hparams["learning_rate"].number_value == 0.001
    assert start.hparams["game"].string_value == "lantern"
    assert start.hparams["overlap"].bool_value is False
    assert start.group_name == str(tmp_path)
    names = [metric.name.tag for metric in found["_hparams_/experiment"].experiment.metric_infos]
    assert names == list(RESULTS)


def test_a_recorder_flattens_settings_and_leaves_open_ones_out(tmp_path):
    recorder = Recorder(tmp_path / "m.jsonl", tmp_path / "monitor", tmp_path / "logs", 1, ())
    recorder.hyperparameters({"hidden": [64, 64], "model": None, "game_options": {"floors": 2}})
    recorder.close()
    start = hparams_in(tmp_path / "logs")["_hparams_/session_start_info"].session_start_info
    assert set(start.hparams) == {"hidden", "game_options.floors"}
    assert start.hparams["hidden"].string_value == "64,64"

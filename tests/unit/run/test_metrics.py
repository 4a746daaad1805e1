"""The recorder's files after a resume."""

import pytest

from parcade.run.metrics import Recorder


@pytest.fixture
def open_recorder(tmp_path):
    made = []

    def make():
        (tmp_path / "monitor").mkdir(exist_ok=True)
        recorder = Recorder(tmp_path / "metrics.jsonl", tmp_path / "monitor", tmp_path / "logs", 2, ("success",))
        made.append(recorder)
        return recorder

    yield make
    for recorder in made:
        recorder.close()


def test_a_slot_without_an_episode_since_the_resume_keeps_its_rows(tmp_path, open_recorder):
    """The run is killed twice; in between only slot 0 ends an episode, and a checkpoint is written."""
    first = open_recorder()
    first.episode(0, 1.0, 5, {"success": 1.0}, 10)
    first.episode(1, 2.0, 6, {"success": 0.0}, 12)
    checkpoint = first.state()
    first.episode(1, 9.0, 9, {"success": 0.0}, 20)  # after the checkpoint: to be cut off
    first.close()

    second = open_recorder()
    second.load(checkpoint)
    second.episode(0, 3.0, 7, {"success": 1.0}, 22)
    checkpoint = second.state()
    second.close()

    open_recorder().load(checkpoint)
    head = "return,length,env_steps,success\n"
    assert (tmp_path / "monitor/env_0.csv").read_text() == head + "1,5,10,1\n3,7,22,1\n"
    assert (tmp_path / "monitor/env_1.csv").read_text() == head + "2,6,12,0\n"


def test_a_slot_whose_first_episode_ended_after_the_checkpoint_starts_anew(tmp_path, open_recorder):
    first = open_recorder()
    checkpoint = first.state()
    first.episode(1, 2.0, 6, {"success": 0.0}, 12)
    first.close()
    open_recorder().load(checkpoint)
    assert not (tmp_path / "monitor/env_1.csv").exists()


def board_steps(tmp_path):
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    files = sorted((tmp_path / "logs").glob("events.out.tfevents.*"), key=lambda path: int(path.name.split(".")[-1]))
    return [event.step for file in files for event in EventFileLoader(str(file)).Load() if event.HasField("summary")]


def test_tensorboard_has_each_step_once_after_resumes(tmp_path, open_recorder):
    first = open_recorder()
    first.update({"env_steps": 10, "return_mean": 1.0})
    checkpoint = first.state()
    first.update({"env_steps": 20, "return_mean": 2.0})
    first.close()

    second = open_recorder()
    second.load(checkpoint)
    second.update({"env_steps": 20, "return_mean": 2.0})
    second.close()

    third = open_recorder()
    third.load(checkpoint)  # the second part of the run left no checkpoint
    third.update({"env_steps": 20, "return_mean": 2.0})
    third.final_evaluation({"env_steps": 30, "eval": {"mean_reward": 5.0}})
    third.close()
    assert board_steps(tmp_path) == [10, 20, 30]


def test_a_checkpoint_of_before_leaves_tensorboards_files_alone(tmp_path, open_recorder):
    first = open_recorder()
    checkpoint = first.state()
    first.update({"env_steps": 10, "return_mean": 1.0})
    first.close()
    del checkpoint["board_ends"]
    second = open_recorder()
    second.check(checkpoint)
    second.load(checkpoint)
    assert board_steps(tmp_path) == [10]


def test_the_evaluation_at_the_end_repeats_no_point_of_the_last_update(tmp_path, open_recorder):
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    recorder = open_recorder()
    recorder.update({"env_steps": 10, "return_mean": 1.0, "time": {"seconds": 3.0}})
    recorder.final_evaluation({"env_steps": 10, "eval": {"mean_reward": 5.0}, "time": {"seconds": 3.0, "eval_s": 1.0}})
    recorder.close()
    (file,) = (tmp_path / "logs").glob("events.out.tfevents.*")
    points = [(value.tag, event.step) for event in EventFileLoader(str(file)).Load() for value in event.summary.value]
    assert ("time/eval_s", 10) in points
    assert len(points) == len(set(points))

"""Words that other trainers use are answered with ours."""

import pytest

from parcade.cli.main import main


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (["test", "--model", "m.zip"], "parcade has no verb 'test' (did you mean 'eval'?)"),
        (["benchmark"], "parcade has no verb 'benchmark' (did you mean 'bench'?)"),
        (["trian"], "parcade has no verb 'trian' (did you mean 'train'?)"),
        (["--mode", "train"], "the job is the first word: `parcade train`"),
        (["train", "--mode", "train"], "the job is the first word: `parcade train`"),
        (["train", "--visualize"], "(did you mean '--visual'? It opens a window)"),
        (["train", "--checkpoint-dir", "x"], "(did you mean '--log-root'? Checkpoints lie in <log_root>/"),
        (["train", "--rom-path", "x"], "(did you mean '--rom'?)"),
        (["train", "--num-envs", "4"], "(did you mean '--n-envs'?)"),
        (["train", "--parallel", "4"], "(did you mean '--n-envs'?)"),
        (["train", "--headless"], "(no window opens unless you give --visual; leave it out)"),
        (["train", "--cuda"], "(did you mean '--device cuda'?)"),
        (
            ["resume", "R", "--learning-rate", "1"],
            "(a run keeps its learning_rate; `parcade train --model FILE --learning-rate …` starts a new run",
        ),
    ],
)
def test_the_right_word_is_named(command, hint, capsys):
    assert main(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert hint in line


def test_a_config_file_with_their_names(tmp_path, capsys):
    (tmp_path / "theirs.yaml").write_text("rom_path: emerald.gba\ncheckpoint_dir: here\nlr: 0.1\n")
    assert main(["config", "--config", str(tmp_path / "theirs.yaml")]) == 2
    line = capsys.readouterr().err
    for hint in ("'rom_path' (did you mean 'rom'?)", "'checkpoint_dir' (did you mean 'log_root'?", "'learning_rate'?"):
        assert hint in line


def test_resume_looks_in_another_log_root(tmp_path, capsys):
    assert main(["resume", "--log-root", str(tmp_path)]) == 2
    assert f"there is no run in {tmp_path}/" in capsys.readouterr().err

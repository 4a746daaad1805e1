"""`parcade eval`: what it lists, what its help promises, and the folder of a run in the place of a model."""

from pathlib import Path

import pytest

from parcade.cli.main import main, verb_parser


def test_list_prints_every_episode_without_json(capsys):
    assert main(["eval", "--random", "--episodes", "3", "--env-id", "CartPole-v1", "--n-workers", "0", "--list"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0].rstrip("0123456789") for line in out[:3]] == ["seed "] * 3
    assert all(" steps" in line and "return " in line for line in out[:3])
    assert out[3].startswith("3 episodes of CartPole-v1")


@pytest.mark.parametrize("verb", ["eval", "resume"])
def test_help_promises_auto_only_where_it_is_taken(verb):
    flags = {action.dest: action for action in verb_parser(verb)._actions}
    assert "auto" not in flags["n_workers"].help
    assert "[one for each core]" in flags["n_workers"].help
    train = {action.dest: action for action in verb_parser("train")._actions}["n_workers"]
    assert "auto: as measured by tune" in train.help
    assert train.type("auto") == "auto"


def test_a_run_folder_in_the_place_of_a_model_is_answered_with_its_model(tmp_path, capsys):
    run = tmp_path / "run"
    (run / "models").mkdir(parents=True)
    assert main(["eval", "--model", str(run)]) == 2
    assert capsys.readouterr().err.rstrip().endswith("is a folder, not a model file")
    Path(run, "models", "best_model.zip").touch()
    assert main(["eval", "--model", str(run)]) == 2
    assert f"is a folder, not a model file; give {run}/models/best_model.zip" in capsys.readouterr().err


def test_check_of_a_rom_names_the_flag(tmp_path, monkeypatch, capsys):
    from parcade.console.rom import builtin_rom

    monkeypatch.chdir(tmp_path)
    Path("lantern.gb").write_bytes(builtin_rom("lantern.gb").data)
    assert main(["check", "lantern.gb"]) == 2
    assert "lantern.gb is a ROM; check its title with `parcade check --rom lantern.gb`" in capsys.readouterr().err


def test_a_cut_gba_rom_is_told(tmp_path, capsys):
    from parcade.console.rom import builtin_rom

    rom, script = tmp_path / "trunc.gba", tmp_path / "quit.txt"
    rom.write_bytes(builtin_rom("meadow.gba").data[:1000])
    script.write_text("quit\n")
    assert main(["inspect", "--rom", str(rom), "--script", str(script)]) == 0
    assert "trunc.gba has 1,000 bytes, too few to be a whole Game Boy Advance cartridge" in capsys.readouterr().err

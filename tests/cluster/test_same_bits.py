"""Numbers depend on the settings, never on where they were computed."""

import shutil
from pathlib import Path

import pytest
from same_run import CASES, COMMON, LANTERN, PENDULUM, same_bits

import parcade
from parcade import resume, train

ROM = Path(parcade.__file__).parent / "roms" / "lantern.gb"


def test_two_nodes_give_the_bits_of_one_process(two_nodes, tmp_path):
    settings = {**COMMON, **LANTERN, "total_timesteps": 192}
    whole = train(**settings, n_workers=0, log_root=str(tmp_path / "whole"))
    same_bits(whole, train(**settings, cluster=two_nodes.address, n_workers=0, log_root=str(tmp_path / "ray")))


@pytest.mark.long
def test_one_process_learners_and_two_nodes_give_the_same_bits(two_nodes, tmp_path):
    """Half of a run on two nodes with a ROM that only the trainer can read, the rest without a cluster."""
    rom = tmp_path / "mine" / "my lantern.gb"
    rom.parent.mkdir()
    shutil.copy(ROM, rom)
    settings = {**COMMON, **CASES["features"], "rom": str(rom)}
    whole = train(**settings, n_workers=0, log_root=str(tmp_path / "whole"))
    half = {**settings, "total_timesteps": 192, "cluster": two_nodes.address, "n_workers": 0}
    begun = train(**half, log_root=str(tmp_path / "half"))
    shutil.copytree(begun.run_dir, tmp_path / "copy")
    same_bits(whole, resume(begun.run_dir, total_timesteps=384, cluster="none", learners=2, rom=str(rom)))
    again = resume(tmp_path / "copy", total_timesteps=384, cluster="auto", learners=2, n_workers=None, rom=str(rom))
    same_bits(whole, again)


@pytest.mark.long
def test_one_shard_on_a_cluster_is_the_training_without_shards(two_nodes, tmp_path):
    settings = {**COMMON, **PENDULUM, "shards": 1, "normalize_return": True, "n_workers": 1}
    plain = train(**settings, log_root=str(tmp_path / "plain"))
    same_bits(plain, train(**settings, cluster="auto", log_root=str(tmp_path / "ray")))


@pytest.mark.long
@pytest.mark.parametrize("cores", [(4,), (2, 2), (1, 1, 1, 1)])
def test_the_number_of_nodes_changes_no_number(cores, start_nodes, tmp_path):
    nodes = start_nodes(*cores)
    for case, own in CASES.items():
        settings = {**COMMON, **own}
        whole = train(**settings, n_workers=0, log_root=str(tmp_path / case / "whole"))
        spread = train(**settings, cluster=nodes.address, log_root=str(tmp_path / case / "ray"))
        same_bits(whole, spread)


@pytest.mark.long
def test_save_states_reach_nodes_by_content(two_nodes, tmp_path):
    from parcade.api import make_env

    folder = tmp_path / "states"
    folder.mkdir()
    env = make_env("lantern")
    env.reset(seed=1)
    for number in range(3):
        env.step(1)
        (folder / f"{number}.state").write_bytes(env.unwrapped.console.save())
    env.close()
    settings = {**COMMON, **LANTERN, "state": str(folder), "total_timesteps": 192}
    whole = train(**settings, n_workers=0, log_root=str(tmp_path / "whole"))
    same_bits(whole, train(**settings, cluster="auto", log_root=str(tmp_path / "ray")))

"""What a cluster cannot be used for: one sentence, and nothing is left behind."""

import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from same_run import COMMON, LANTERN, PENDULUM

import parcade
from parcade import train
from parcade.errors import ParcadeError, SettingsError, UserError

SOURCE = Path(parcade.__file__).parent


@pytest.fixture
def other_port():
    """A server that does not speak Ray's language."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()

    def serve():
        while True:
            try:
                reached, _ = listening.accept()
            except OSError:
                return
            reached.recv(100)
            reached.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            reached.close()

    threading.Thread(target=serve, daemon=True).start()
    yield listening.getsockname()[1]
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()


def closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def refused(tmp_path, kind=SettingsError, **settings):
    with pytest.raises(kind) as error:
        train(**{**COMMON, **PENDULUM, **settings}, log_root=str(tmp_path / "results"))
    assert not (tmp_path / "results").exists() or not list((tmp_path / "results").iterdir())
    assert "\n" not in str(error.value)
    return str(error.value)


def test_no_cluster_at_the_address(tmp_path, monkeypatch, other_port):
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    port = closed_port()
    assert f"no Ray cluster answers at 127.0.0.1:{port} (Connection refused)" in refused(
        tmp_path, cluster=f"127.0.0.1:{port}"
    )
    assert "something else listens there" in refused(tmp_path, cluster=f"127.0.0.1:{other_port}")
    assert "no Ray cluster runs on this machine; start one with `ray start --head`" in refused(tmp_path, cluster="auto")
    assert "is no address; wanted auto or host:port" in refused(tmp_path, cluster="ray://127.0.0.1:1")


def test_what_needs_one_learner(tmp_path):
    words = refused(tmp_path, cluster="auto", overlap=True, pin_workers=True)
    assert words == "cluster auto cannot be used with overlap, pin_workers; use one learner"


def test_shards_that_do_not_divide_the_games(tmp_path):
    assert "n_envs 10 is not a multiple of shards 4 (10 % 4 = 2)" in refused(tmp_path, cluster="auto", n_envs=10)


def test_ray_that_is_not_installed(tmp_path):
    code = "import sys; sys.modules['ray'] = None; from parcade.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "train", "--cluster", "auto", "--log-root", str(tmp_path / "r")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip().endswith("cluster needs Ray; pip install 'parcade[cluster]'")
    assert not (tmp_path / "r").exists() or not list((tmp_path / "r").iterdir())


def test_too_few_cores(two_nodes, tmp_path):
    words = refused(tmp_path, cluster=two_nodes.address, n_workers=12)
    assert words == (
        "4 learners with 3 cores each do not fit on a cluster with 4 cores on 2 nodes; "
        "use fewer shards or n_workers, or add nodes"
    )


def changed_copy(tmp_path):
    """Return a folder with a copy of Parcade in which somebody changed a comment."""
    import shutil

    shutil.copytree(SOURCE, tmp_path / "copy" / "parcade", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "copy" / "parcade" / "errors.py").open("a") as file:
        file.write("# changed\n")
    return tmp_path / "copy"


@pytest.mark.long
def test_a_node_with_another_parcade(start_nodes, tmp_path):
    nodes = start_nodes(2)
    nodes.add(2, env={"PYTHONPATH": str(changed_copy(tmp_path))})
    words = refused(tmp_path, cluster=nodes.address)
    assert words.startswith("node 127.0.0.3 has Parcade's source files ")
    assert words.endswith("; install the same on both")


@pytest.mark.long
@pytest.mark.parametrize("module", ["pyboy", "parcade"])
def test_a_node_without_the_emulator_or_without_parcade(module, start_nodes, tmp_path):
    lacking = tmp_path / "lacking" / module
    lacking.mkdir(parents=True)
    (lacking / "__init__.py").write_text(f"raise ImportError('no {module} here')\n")
    nodes = start_nodes(2)
    nodes.add(2, env={"PYTHONPATH": f"{lacking.parent}:{SOURCE.parent}"})
    words = refused(tmp_path, ParcadeError, **LANTERN, env_id=None, cluster=nodes.address, n_workers=4)
    assert words.startswith("node 127.0.0.3"), words
    assert f"no {module} here" in words
    with pytest.raises(UserError):
        train(**{**COMMON, **LANTERN}, cluster=nodes.address, log_root=str(tmp_path / "results"))

"""`ulimit -v` too small is one sentence, whatever would have failed first."""

import resource
import subprocess
import sys
from functools import partial

import pytest


def limited(megabytes, *words, folder):
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    command = [sys.executable, "-m", "parcade.cli.main", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, preexec_fn=limit)


@pytest.mark.parametrize(
    ("megabytes", "words", "told"),
    [
        (60, ["games"], "parcade games needs about 500 MB"),
        (300, ["config"], "parcade config needs about 500 MB"),
        (1_000, ["train", "--timesteps", "100"], "parcade train needs about 1,400 MB"),
    ],
)
def test_too_little_is_told_before_anything_is_loaded(megabytes, words, told, tmp_path):
    answer = limited(megabytes, *words, folder=tmp_path)
    assert answer.returncode == 2
    (line,) = answer.stderr.splitlines()
    assert f"this process may use {megabytes:,} MB of address space (ulimit -v), but {told}" in line
    assert answer.stdout == ""


def test_what_runs_out_later_is_one_sentence_too(tmp_path):
    # 1,400 MB hold the libraries, but not a network of 900 MB with its gradients.
    words = ["train", "--env-id", "CartPole-v1", "--hidden", "15000,15000", "--n-workers", "1", "--n-envs", "2"]
    answer = limited(1_450, *words, "--timesteps", "64", folder=tmp_path)
    assert answer.returncode in (1, 2)
    assert "Traceback" not in answer.stderr
    assert "address space (ulimit -v)" in answer.stderr.splitlines()[-1]

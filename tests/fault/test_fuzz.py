"""Wrong files and settings from a seed: always one sentence, never a traceback, a hang or wrong weights.

`parcade bench fuzz --minutes M` runs the same cases for longer.
"""

import numpy as np
import pytest

from parcade.bench.fuzz.damage import changed_archive, changed_tree, damaged
from parcade.bench.fuzz.fuzz import open_fuzzer
from parcade.bench.fuzz.kinds import KINDS
from parcade.bench.fuzz.server import Outcome, sentence_fault
from parcade.bench.fuzz.setting_values import setting_names, values_for
from parcade.cli.main import main
from parcade.run.archive import packed_archive, read_archive

SEED = 20
CASES = 6  # of each kind, always the same ones: a time limit would try others on a quicker machine
SLOW = ("Game Boy ROM", "Game Boy Advance ROM", "Game Boy state", "Game Boy Advance state")


def found_in(kinds):
    """Run the first cases of these kinds; return what broke."""
    faults = []
    with open_fuzzer(SEED) as fuzzer:
        for number in range(CASES):
            for kind in kinds:
                case, outcome, _ = fuzzer.run(kind, number)
                if (fault := sentence_fault(outcome)) is not None:
                    faults.append((kind, number, fault, case.what, case.words, outcome.told[-800:]))
    return faults


def test_what_is_read_is_refused_with_a_sentence():
    assert found_in([kind for kind in KINDS if kind not in SLOW]) == []


@pytest.mark.long
def test_what_is_played_is_refused_with_a_sentence():
    assert found_in(SLOW) == []


def test_the_same_seed_makes_the_same_damage():
    data = packed_archive("model", {"a": [1, {"b": 2}], "c": "x"}, {"weights": {"w": np.arange(6.0)}})
    for make in (damaged, changed_archive):
        one, other, third = (make(np.random.default_rng(seed), data) for seed in (1, 1, 2))
        assert one == other
        assert one != third


def test_wrong_contents_have_right_checksums(tmp_path):
    data = packed_archive("model", {"a": [1, {"b": 2}], "c": "x"}, {"weights": {"w": np.arange(6.0)}})
    read = 0
    for seed in range(40):
        changed, what = changed_archive(np.random.default_rng(seed), data)
        if what.startswith("its head"):
            continue
        (tmp_path / "m.zip").write_bytes(changed)
        meta, _ = read_archive(tmp_path / "m.zip", "model")
        read += 1
        assert changed != data
        assert isinstance(meta, dict)
    assert read > 20


def test_a_tree_is_changed_in_one_place():
    tree = {"a": [1, {"b": 2}], "c": "x"}
    changed, what = changed_tree(np.random.default_rng(3), tree)
    assert changed != tree
    assert tree == {"a": [1, {"b": 2}], "c": "x"}
    assert what


def test_every_setting_is_tried_beyond_its_limits():
    assert len(setting_names()) > 80
    assert {1025, 1024, 0} <= set(map(repr_or_int, values_for("num_threads")))
    assert "PPO" in values_for("algorithm")


def repr_or_int(value):
    return value if isinstance(value, int) else repr(value)


@pytest.mark.parametrize(
    ("outcome", "wanted"),
    [
        (Outcome(0, 1.0, False, False, "", False), None),
        (Outcome(2, 1.0, False, False, "parcade: no\n", False), None),
        (Outcome(1, 1.0, False, False, "", True), None),
        (Outcome(143, 1.0, True, False, "parcade: stopped\n", False), None),
        (Outcome(1, 1.0, False, False, "", False), "no sentence"),
        (Outcome(1, 1.0, False, False, "Traceback (most recent call last):\n", True), "a traceback"),
        (Outcome(0, 1.0, False, False, "a.py:3: RuntimeWarning: overflow\n", True), "a warning of Python's"),
        (Outcome(-11, 1.0, False, False, "", False), "exit code -11"),
        (Outcome(-9, 1.0, True, True, "", False), "it hung and did not answer SIGTERM"),
        (Outcome(98, 1.0, False, False, "", False), "wrong weights"),
        (Outcome(2, 1.0, False, False, f"parcade: {'x' * 2000}\n", False), "a line of more than 1,500 characters"),
    ],
)
def test_a_fault_is_known_when_it_is_seen(outcome, wanted):
    assert sentence_fault(outcome) == wanted


TOO_MUCH = {
    "a clip range beyond 32 bits": (["--clip-range", "1e300"], "clip_range is 1e+300, wanted numbers up to 3.4e+38"),
    "more steps than 64 bits": (
        ["--save-freq", "1e21"],
        "save_freq is 1000000000000000000000, wanted whole numbers up",
    ),
    "epochs that never end": (["--n-epochs", "2147483648"], "n_epochs is 2147483648, wanted 1000 or less"),
    "endless layers": (["--hidden", "9" * 300], "hidden is (a number of"),
    "a long text for a whole number": (["--n-steps", "x" * 5000], "is not a whole number"),
    "a long text for a number": (["--gamma", "x" * 5000], "invalid float value"),
    "a long text for a choice": (["--cnn", "x" * 5000], "invalid choice"),
    "a long unknown flag": ([f"--{'x' * 5000}"], "does not know"),
    "a long option": (["--env-kwargs", "x" * 5000], "is not key=value"),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_is_too_much_is_said_briefly(name, capsys):
    flags, wanted = TOO_MUCH[name]
    assert main(["train", "--env-id", "CartPole-v1", *flags]) == 2
    told = capsys.readouterr().err
    assert wanted in told
    assert len(told) < 1000

"""`parcade sweep` as a user runs it: the end of a sweep, its page, and every mistake in one sentence."""

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("optuna")

from parcade.cli.main import main
from parcade.host.cores import usable_cores

TEXT = """
name: quick
fixed: {env_id: CartPole-v1, total_timesteps: 512, n_envs: 2, n_steps: 32, n_workers: 0}
settings:
  learning_rate: {float: [1.0e-4, 1.0e-2], log: true}
  n_epochs: {int: [1, 5]}
  activation: [tanh, relu]
  target_kl: {float: [0.01, 0.1], when: {activation: relu}}
objective: {metric: rollout/ep_rew_mean, min_episodes: 5, wall_time: true}
sampler: {kind: tpe, startup: 3}
first: [defaults]
budget: {n_trials: 6}
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A whole sweep in its own process, two trials at once where there are cores for it."""
    folder = tmp_path_factory.mktemp("swept")
    text = TEXT.replace("first: [defaults]", "first: [{learning_rate: 1.0e-3, n_epochs: 3}, defaults]")
    (folder / "quick.yaml").write_text(text)
    words = ["sweep", "quick.yaml", "--jobs", str(min(2, usable_cores())), "--json"]
    answer = subprocess.run(
        [sys.executable, "-m", "parcade.cli.main", *words], cwd=folder, capture_output=True, text=True, timeout=250
    )
    assert answer.returncode == 0, answer.stderr
    return folder, json.loads(answer.stdout.splitlines()[-1]), answer.stderr


def test_the_end_of_a_sweep(swept):
    folder, told, said = swept
    assert (told["n_trials"], told["complete"], told["failed"], told["interrupted"]) == (6, 6, 0, False)
    best = told["best"]
    assert best["values"][0] == max(trial["values"][0] for trial in told["trials"])
    assert best["trial"] in told["pareto"]
    assert all(len(trial["values"]) == 2 for trial in told["trials"])
    assert told["trials"][0]["settings"] == {"learning_rate": 1e-3, "n_epochs": 3, "activation": "tanh"}
    assert (folder / best["run_dir"] / "models" / "final_model.zip").is_file()
    assert "trial 6 of 6 begins" in said
    assert "Traceback" not in said


def test_the_defaults_stand_beside_the_best(swept):
    folder, told, said = swept
    own = told["defaults"]
    assert (own["trial"], own["settings"]["n_epochs"]) == (2, 4)
    assert "the defaults" in said.splitlines()[-2]
    text = (folder / told["html"]).read_text()
    assert ">2 (defaults)</a>" in text
    assert Page(text).count("path", "own") == (0 if told["best"]["trial"] == 2 else 4)


def test_train_takes_the_best_config(swept, monkeypatch, capsys):
    folder, told, _ = swept
    monkeypatch.chdir(folder)
    assert main(["config", "--config", told["best_config"], "--json"]) == 0
    settings = json.loads(capsys.readouterr().out)
    assert all(settings[name] == value for name, value in told["best"]["settings"].items())
    assert settings["final_eval_episodes"] == 100  # only trials go without


def test_other_verbs_take_trials_for_runs(swept, monkeypatch, capsys):
    folder, told, _ = swept
    monkeypatch.chdir(folder)
    assert main(["runs", "results/quick", "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert {Path(run["path"]).name for run in runs} == {f"trial-{number:03d}" for number in range(1, 7)}
    assert main(["compare", "results/quick", "--metric", "rollout/ep_rew_mean", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["groups"]) == 6
    model = f"{told['best']['run_dir']}/models/final_model.zip"
    assert main(["eval", "--model", model, "--episodes", "1", "--json"]) == 0


class Page(HTMLParser):
    """Checks that every element is closed, and notes what is there."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.links = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.links += [value for name, value in attributes if name in ("href", "src")]
        if tag not in ("meta", "link", "br", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def count(self, tag, kind):
        return sum(found == tag and kind in (values.get("class") or "").split() for found, values in self.found)


def test_the_page_holds_every_trial_and_needs_no_network(swept):
    folder, told, _ = swept
    text = (folder / told["html"]).read_text()
    page = Page(text)
    assert "<script" not in text
    assert "nan" not in text.lower().replace("finance", "")
    assert all("://" not in link for link in page.links)
    assert all((folder / told["html"]).parent.joinpath(link).is_file() for link in page.links)
    assert page.count("rect", "bar") == 4  # importance of each setting
    assert page.count("path", "way") == 4 * 6  # parallel coordinates and curves, for wide and for narrow screens
    counted = sum("target_kl" in trial["settings"] for trial in told["trials"])
    assert page.count("circle", "dot") == 6 + 6 + 3 * 6 + counted  # history, both values, slices
    assert page.count("path", "axis") == 2 * 5
    assert page.count("tr", "best") == 1


def test_another_sweep_in_the_same_folder_is_refused(swept, monkeypatch, capsys, tmp_path):
    folder, _, _ = swept
    other = tmp_path / "quick.yaml"
    other.write_text((folder / "quick.yaml").read_text().replace("[1, 5]", "[1, 4]"))
    assert main(["sweep", str(other), "--out", str(folder / "results" / "quick")]) == 2
    assert "holds another sweep: ranges.n_epochs.high is 5 there and 4 here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--jobs", "0"], "--jobs is 0, wanted 1 to"),
        (["--jobs", "5000"], "each job needs a core of its own"),
        (["--trials", "0"], "--trials is 0, wanted more than 0"),
        (["--gamma", "7"], "gamma is 7.0, wanted 1 or less"),
        (["--n-epochs", "3"], "n_epochs has a range and a fixed value"),
        (["--env-id", "NoSuch-v1"], "NoSuch"),
        (["--out", "/proc/nowhere/x"], "a sweep cannot be stored in /proc/nowhere/x"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, monkeypatch, capsys, words, told):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(TEXT)
    assert main(["sweep", "mine.yaml", *words]) == 2
    said = capsys.readouterr()
    assert told in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert not list(tmp_path.glob("results/*/trial-*"))


def test_files_that_are_none(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", "none.yaml"]) == 2
    assert "none.yaml cannot be read" in capsys.readouterr().err
    Path("mine.yaml").write_text(TEXT)
    Path("results/quick").mkdir(parents=True)
    Path("results/quick/journal.log").write_text("this is\nno journal\n")
    assert main(["sweep", "mine.yaml"]) == 2
    assert "journal.log is not the storage of a sweep" in capsys.readouterr().err


def test_defaults_outside_of_a_range_are_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(TEXT.replace("[tanh, relu]", "[relu, tanh]").replace("{int: [1, 5]}", "{int: [5, 9]}"))
    assert main(["sweep", "mine.yaml"]) == 2
    assert "the default of n_epochs is 4, which is outside of its range" in capsys.readouterr().err
    assert not Path("results").exists()  # a mended file would be another sweep


def test_a_module_that_does_not_lie_here_is_not_imported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(TEXT.replace("env_id: CartPole-v1", "game: 'antigravity:Game'"))
    assert main(["sweep", "mine.yaml"]) == 2
    assert "names the module 'antigravity', which does not lie in the current folder" in capsys.readouterr().err
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    "choice",
    [
        "game: [lantern, 'antigravity:Game']",
        "env_id: [CartPole-v1, 'antigravity:Env-v0']",
        "imports: [[], [antigravity]]",
    ],
)
def test_nor_is_one_that_only_some_trials_name(choice, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(
        "fixed: {total_timesteps: 64}\nobjective: {metric: rollout/return_mean}\nbudget: {n_trials: 2}\n"
        f"settings:\n  {choice}\n"
    )
    assert main(["sweep", "mine.yaml"]) == 2
    told = capsys.readouterr().err
    assert "antigravity" not in sys.modules
    assert "whose module does not lie in the current folder; sweep in the folder of the module" in told
    assert not Path("results").exists()


def test_without_optuna_one_sentence_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(TEXT.replace("{int: [1, 5]}", "{int: [1, 9]}"))
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert main(["sweep", "mine.yaml"]) == 2
    assert "pip install 'parcade[sweep]'" in capsys.readouterr().err

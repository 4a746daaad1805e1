"""The documents say what is true: examples run, links lead somewhere, settings are all there."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def python_blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def commands(page):
    blocks = re.findall(r"```(?:sh|bash|)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("parcade ")]


@pytest.mark.parametrize(
    "name",
    [
        *("check.md", "episodes.md", "evaluation.md", "gymnasium.md", "troubleshooting.md"),
        *(pytest.param(name, marks=pytest.mark.long) for name in ("first-run.md", "algorithms.md", "export.md")),
    ],
)
def test_python_examples_run(name, tmp_path):
    blocks = python_blocks(ROOT / "docs" / name)
    assert blocks
    for block in blocks:
        answer = subprocess.run(
            [sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_use_flags_that_exist(page):
    from parcade.cli.main import _parser

    for command in commands(page):
        words = command.split()[1:]
        verb = words[0]
        parser = _parser([verb])._subparsers._group_actions[0].choices[verb]
        if parser._subparsers is not None:  # parcade bench WHAT
            parser = parser._subparsers._group_actions[0].choices[words[1]]
        known = parser._option_string_actions
        for word in words[1:]:
            if word.startswith("--"):
                assert word.split("=")[0] in known, f"{page.name}: {command}"


@pytest.mark.parametrize("name", ["settings", "cli"])
def test_written_pages_are_up_to_date(name):
    tool = ROOT / "tools" / f"write_{name}_doc.py"
    spec = importlib.util.spec_from_file_location(tool.stem, tool)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert page == module.text(), f"run `python tools/{tool.name}`"


def test_every_logged_name_is_explained():
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    from parcade.run.metrics import tensorboard_values

    row = {"return_mean": 1.0, "length_mean": 1.0, "success_rate": 1.0}
    losses = ["policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "explained_variance"]
    row["losses"] = dict.fromkeys([*losses, "learning_rate", "epochs"], 1.0)
    row["time"] = dict.fromkeys(["seconds", "steps_per_s", "play_s", "learn_s", "worker_restarts"], 1.0)
    for tag in tensorboard_values(row, []):
        assert f"`{tag}`" in page, tag


def test_no_file_names_a_place_outside_the_repository():
    words = ("/tmp/lab", "/work/", "/opt/", "pypi.org", "files.pythonhosted", "deb.debian")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for name in listed:
        path = ROOT / name
        if path.suffix in {".md", ".py", ".toml", ".txt", ".sh", ".yaml", ".c", ".h", ""} and path != Path(__file__):
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not [word for word in words if word in text], name


def test_make_train_passes_every_variable_on():
    words = (
        "GAME=lantern TRAIN_STEPS=2000 TRAIN_ENVS=2 TRAIN_EPISODE_LENGTH=90 TRAIN_UPDATE_EPOCHS=3 TRAIN_BATCH_SIZE=64"
    )
    command = ["make", "-n", "train", *words.split(), "TRAIN_OUTPUT_DIR=out"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for flag in ("--game lantern", "--timesteps 2000", "--n-envs 2", "--max-steps 90", "--n-epochs 3"):
        assert flag in shown
    assert "--batch-size 64" in shown
    assert "--log-root out" in shown

"""What users install: the wheel alone in an empty virtual env, its extras, and what is said about them."""

import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

import parcade
from parcade.config.track_fields import TRACKER_NAMES

ROOT = Path(__file__).parents[2]


def project():
    if sys.version_info < (3, 11):
        pytest.skip("tomllib is part of Python 3.11 and later")
    import tomllib

    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def extras():
    return {name for name in project()["optional-dependencies"] if name != "dev"}


def test_the_version_is_the_same_everywhere():
    assert project()["version"] == parcade.__version__
    assert f"## {parcade.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"parcade-{parcade.__version__}-py3-none-any.whl" in (ROOT / "docs" / "install.md").read_text(
        encoding="utf-8"
    )


def test_doctor_and_the_page_know_every_extra():
    from parcade.cli.doctor import EXTRAS, _tracker

    assert set(EXTRAS) == extras() - {"track"}
    assert {_tracker(name).what for name in TRACKER_NAMES} == {
        re.match(r"\w+", one).group() for one in project()["optional-dependencies"]["track"]
    }
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert {name for name in extras() | {"dev"} if f"| `{name}` |" not in page} == set()


def test_every_pinned_package_stands_once():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    names = [re.sub(r"[-_.]+", "-", line.split("==")[0].lower()) for line in lines if "==" in line]
    assert len(names) == len(set(names))


def test_the_image_copies_files_that_exist_and_its_commands_are_shell():
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "COPY":
            assert [name for name in shlex.split(rest)[:-1] if not (ROOT / name).exists()] == []
        if word == "RUN":
            subprocess.run(["sh", "-n", "-c", rest], check=True)
    assert 'ENTRYPOINT ["parcade"]' in lines


def make_targets(text):
    return set(re.findall(r"\bmake ((?:[a-z.][\w./-]*)(?: \.venv/[\w.-]+)*)", text))


def test_workflows_and_devcontainer_call_targets_that_exist():
    known = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    called = set()
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
        steps = [step for job in jobs.values() for step in job["steps"]]
        called |= {target for step in steps for target in make_targets(step.get("run", ""))}
    assert {"check", "test", "test-long", "dist", "docs"} <= called <= known
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert container["postCreateCommand"] == "make .venv/.dev .venv/.apt-test"
    assert (ROOT / ".devcontainer" / container["build"]["dockerfile"]).exists()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build as `make dist` does, from the files that git knows: nothing else may reach a package."""
    source, dist = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if name.startswith("src/") or "/" not in name:
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    subprocess.run([sys.executable, "-m", "build", "--outdir", dist, source], check=True, capture_output=True)
    assert len(list(dist.glob("*.tar.gz"))) == 1
    (found,) = dist.glob("*.whl")
    return found


def pip(python, *words):
    answer = subprocess.run([python, "-m", "pip", *words], cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert answer.returncode == 0, answer.stderr[-2000:]
    return answer.stdout


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_wheel_alone_trains_the_built_in_game(wheel, tmp_path):
    names = zipfile.ZipFile(wheel).namelist()
    assert {"parcade/roms/lantern.gb", "parcade/view/page/static/index.html", "parcade/py.typed"} <= set(names)
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    pip(python, "install", "-q", "-c", "constraints.txt", "torch")
    pip(python, "install", "-q", "-c", "constraints.txt", str(wheel))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    words = ["train", "--timesteps", "2000", "--final-eval-episodes", "2", "--plain", "--json"]
    answer = subprocess.run(
        [python.with_name("parcade"), *words], cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=200
    )
    assert answer.returncode == 0, answer.stderr
    result = json.loads(answer.stdout.splitlines()[-1])
    assert result["env_steps"] >= 2000
    assert (tmp_path / result["run_dir"] / "report.html").exists()


@pytest.mark.long
def test_all_extras_resolve(wheel, tmp_path):
    pinned = extras() - {"track"}
    pip(sys.executable, "install", "--dry-run", "-q", "-c", "constraints.txt", f"{wheel}[{','.join(sorted(pinned))}]")
    # trackio wants an older pillow than the one that is pinned; nothing else of Parcade needs pillow.
    rest = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("pillow")]
    (tmp_path / "constraints.txt").write_text("\n".join(rest))
    pip(sys.executable, "install", "--dry-run", "-q", "-c", str(tmp_path / "constraints.txt"), f"{wheel}[track]")

"""`parcade completion` in real shells: they offer our verbs, flags and values."""

import shutil
import subprocess

import pytest

from parcade.cli.commands import all_commands
from parcade.cli.completion_scripts import SCRIPTS
from parcade.cli.main import VERBS, main

OFFERED = [
    ("parcade tr", {"train"}),
    ("parcade co", {"compare", "completion", "config"}),
    ("parcade train --obs", {"--observation"}),
    ("parcade train --observation ", {"features", "pixels", "both"}),
    ("parcade train --game l", {"lantern", "links-awakening"}),
    ("parcade resume --worker-", {"--worker-memory-mb", "--worker-restarts"}),
    ("parcade bench t", {"train"}),
    ("parcade bench train --to-", {"--to-success"}),
    ("parcade guide f", {"fields"}),
    ("parcade completion --js", {"--json"}),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    commands = list(all_commands())
    folder = tmp_path_factory.mktemp("completion")
    for shell, write in SCRIPTS.items():
        (folder / shell).write_text(write(commands), encoding="utf-8")
    return folder


def answer_of(shell, *arguments):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed; `make test` installs it with apt")
    answer = subprocess.run([shell, *arguments], capture_output=True, text=True, timeout=60)
    assert answer.stderr == ""
    assert answer.returncode == 0
    return answer.stdout


BASH = """
source "$0"
read -ra COMP_WORDS <<< "$1"
[[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_parcade
printf "%s\\n" "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(("line", "offered"), OFFERED)
def test_bash_offers_what_fits(scripts, line, offered):
    assert set(answer_of("bash", "-c", BASH, str(scripts / "bash"), line).split()) == offered


def test_fish_offers_what_fits(scripts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    asked = "\n".join(f"echo '> {line}'; complete -C '{line}'" for line, _ in OFFERED)
    found = answer_of("fish", "-c", f"source {scripts / 'fish'}\n{asked}").split("> ")[1:]
    assert [{line.split("\t")[0] for line in part.splitlines()[1:]} for part in found] == [one for _, one in OFFERED]


ZSH = """
compdef() { print "registered $*" }
_files() {}
_describe() { print -rl $verbs }
_arguments() { print -rl -- "$@" }
source "$1"
for line in "parcade " "parcade bench " "parcade train --" "parcade bench env --"; do
    words=(${=line} ""); [[ $line == *-- ]] && words=(${=line}); CURRENT=$#words
    print "> $line"; _parcade
done
"""


def test_zsh_offers_verbs_and_hands_flags_to_its_own_parser(scripts):
    said, verbs, benches, train, env = answer_of("zsh", "-f", "-c", ZSH, "zsh", str(scripts / "zsh")).split("> ")
    assert said == "registered _parcade parcade\n"
    assert {line.split(":")[0] for line in verbs.splitlines()[1:]} == set(VERBS)
    assert "env:games alone: the pool beside the machine's limit and beside peers" in benches.splitlines()
    assert "--observation[what the policy sees of a game\\: features, pixels or both (features)]:CHOICE:" in train
    assert "(features pixels both)" in train
    assert "--n-envs[" in env


def test_every_verb_and_flag_stands_in_every_script(scripts):
    for command in all_commands():
        for shell in SCRIPTS:
            text = (scripts / shell).read_text(encoding="utf-8")
            for flag in command.flags:
                name = flag.names[0]
                assert (f"-l {name[2:]} " if shell == "fish" and name.startswith("--") else name) in text


def test_the_verb_prints_a_script_and_refuses_other_shells(capsys):
    assert main(["completion", "bash"]) == 0
    assert "complete -o default -F _parcade parcade" in capsys.readouterr().out
    assert main(["completion", "tcsh"]) == 2
    assert "tcsh" in capsys.readouterr().err

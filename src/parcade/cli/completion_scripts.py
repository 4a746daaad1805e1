"""Completion scripts for bash, zsh and fish, made from the commands; none of them starts Python when you press Tab."""

from __future__ import annotations

from collections.abc import Sequence

from parcade.cli.commands import Command, Flag

_SHORT = 80  # characters of a meaning that a shell shows


def bash_script(commands: Sequence[Command]) -> str:
    """Return a script for bash: `source <(parcade completion bash)`."""
    deeper = " | ".join(command.words[0] for command in commands if command.verbs)
    verbs = " ".join(command.words[0] for command in commands if len(command.words) == 1)
    cases, values = list[str](), list[str]()
    for command in commands:
        name = " ".join(command.words)
        flags = " ".join(word for flag in command.flags for word in flag.names)
        offered = f'[[ $cur == -* ]] && offer="{flags}"'
        if command.verbs:
            offered += f' || offer="{" ".join(command.verbs)}"'
        cases.append(f'        "{name}") {offered} ;;')
        for flag in command.flags:
            if flag.choices:
                pattern = " | ".join(f'"{name} {word}"' for word in flag.names)
                values.append(f'        {pattern}) offer="{" ".join(flag.choices)}" ;;')
    lines = [
        "# Completion of parcade for bash: source <(parcade completion bash)",
        "_parcade() {",
        '    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" offer="" command=""',
        '    (( COMP_CWORD > 1 )) && command="${COMP_WORDS[1]}"',
        '    case "$command" in',
        f'        {deeper}) (( COMP_CWORD > 2 )) && command="$command ${{COMP_WORDS[2]}}" ;;',
        "    esac",
        '    case "$command" in',
        f'        "") offer="{verbs} --help --version" ;;',
        *cases,
        "    esac",
        '    case "$command $prev" in',
        *values,
        "    esac",
        '    COMPREPLY=($(compgen -W "$offer" -- "$cur"))',
        "}",
        "complete -o default -F _parcade parcade",
    ]
    return "\n".join(lines) + "\n"


def zsh_script(commands: Sequence[Command]) -> str:
    """Return a script for zsh: `parcade completion zsh > _parcade` in a folder of fpath."""
    lines = ["#compdef parcade", "_parcade() {", *_zsh_verbs(commands, 1, "    ")]
    lines += ["    shift words; (( CURRENT-- ))", '    case "$words[1]" in']
    for command in commands:
        if len(command.words) > 1:
            continue
        below = [one for one in commands if one.words[:1] == command.words and len(one.words) == 2]
        lines.append(f"        {command.words[0]})")
        if below:
            lines += _zsh_verbs(below, 2, "            ")
            lines += ["            shift words; (( CURRENT-- ))", '            case "$words[1]" in']
            for one in below:
                lines += [f"                {one.words[1]})", *_zsh_flags(one), "                ;;"]
            lines.append("            esac")
        else:
            lines += _zsh_flags(command)
        lines.append("        ;;")
    lines += ["    esac", "}", 'if [ "$funcstack[1]" = "_parcade" ]; then', '    _parcade "$@"', "else"]
    return "\n".join([*lines, "    compdef _parcade parcade", "fi"]) + "\n"


def _zsh_verbs(commands: Sequence[Command], depth: int, indent: str) -> list[str]:
    named = [one for one in commands if len(one.words) == depth]
    words = [f"{indent}    {_quoted(f'{one.words[-1]}:{_short(one.text)}')}" for one in named]
    return [
        f"{indent}local -a verbs; verbs=(",
        *words,
        f"{indent})",
        f"{indent}if (( CURRENT == 2 )); then _describe verb verbs; return; fi",
    ]


def _zsh_flags(command: Command) -> list[str]:
    specs = [_quoted(spec) for flag in command.flags for spec in _zsh_specs(flag)]
    return [
        "            _arguments \\",
        *(f"                {spec} \\" for spec in specs),
        "                '*:file:_files'",
    ]


def _zsh_specs(flag: Flag) -> list[str]:
    text = _short(flag.text).replace("[", "(").replace("]", ")").replace(":", r"\:")
    if flag.takes is None:
        return [f"{name}[{text}]" for name in flag.names]
    value = f"({' '.join(flag.choices)})" if flag.choices else "_files"
    return [f"{name}[{text}]:{flag.takes.replace(':', ' ')}:{value}" for name in flag.names]


def fish_script(commands: Sequence[Command]) -> str:
    """Return a script for fish: `parcade completion fish | source`."""
    lines = [
        "# Completion of parcade for fish: parcade completion fish | source",
        "function __parcade_at",
        "    set -l given (commandline -opc)",
        "    set -l last (math (count $argv) + 1)",
        "    test (count $given) -ge $last; or return 1",
        "    test $last -eq 1; and return 0",
        '    test "$given[2..$last]" = "$argv"',
        "end",
        "function __parcade_before",
        "    test (count (commandline -opc)) -eq (math (count $argv) + 1); and __parcade_at $argv",
        "end",
    ]
    for command in commands:
        *above, word = command.words
        before = f"__parcade_before {' '.join(above)}".strip()
        where = f"__parcade_at {' '.join(command.words)}"
        lines.append(f"complete -c parcade -f -n {_quoted(before)} -a {word} -d {_fish_text(command.text)}")
        lines += [f"complete -c parcade -n {_quoted(where)} {_fish_flag(flag)}" for flag in command.flags]
    return "\n".join(lines) + "\n"


def _fish_flag(flag: Flag) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
    value = "" if flag.takes is None else f" -x -a {_quoted(' '.join(flag.choices))}" if flag.choices else " -r -F"
    return f"{names}{value} -d {_fish_text(flag.text)}"


def _fish_text(text: str) -> str:
    return "'" + _short(text).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _short(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1].rstrip()}…"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


SCRIPTS = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}

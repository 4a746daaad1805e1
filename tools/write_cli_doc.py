"""Write docs/cli.md from the parsers themselves: `python tools/write_cli_doc.py`."""

import re
from pathlib import Path

from parcade.cli.commands import Command, Flag, all_commands

HEAD = """# Commands

`parcade VERB --help` prints what stands here. `tools/write_cli_doc.py` writes this page from the parsers.

Every verb takes `--json`, which ends the output with one line for programs. Exit codes: 0 success, 1 a failed run, 2 bad input, 130 after Ctrl-C, 143
after SIGTERM, 129 after a closed terminal. Shell completion: [install.md](install.md#shell-completion).
"""


def cell(text: str) -> str:
    """Return text that cannot end a table's cell or start a tag."""
    return text.replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")


def flag_row(flag: Flag) -> str:
    """Return the row of one flag."""
    takes = "\\|".join(flag.choices) if flag.choices and len(flag.choices) <= 6 and flag.takes != "TEXT" else flag.takes
    names = ", ".join(f"`{name}`" for name in flag.names)
    return f"| {names}{f' {cell(takes) if takes == flag.takes else takes}' if takes else ''} | {cell(flag.text)} |"


def section(command: Command) -> str:
    """Return the section of one command."""
    level = "#" * (1 + len(command.words))
    about = command.about.splitlines() or [command.text]
    first, rest = about[0], "\n".join(about[1:]).strip("\n")
    parts = [f"\n{level} {' '.join(command.words)}\n\n{first}\n\n```text\n{command.usage}\n```"]
    if rest:
        parts.append(f"\n```text\n{rest}\n```")
    rows = [f"| `{name}` | {cell(text)} |" for name, text in command.positionals]
    rows += [flag_row(flag) for flag in command.flags if flag.names[0] != "-h" and flag.names != ("--json",)]
    if rows:
        parts.append("\n| argument | meaning |\n|---|---|\n" + "\n".join(rows))
    return "\n".join(parts)


def text() -> str:
    """Return the whole page."""
    commands = list(all_commands())
    listed = [f"| [{one.words[0]}](#{one.words[0]}) | {cell(one.text)} |" for one in commands if len(one.words) == 1]
    table = "\n| verb | what it does |\n|---|---|\n" + "\n".join(listed)
    page = "\n".join([HEAD + table, *map(section, commands)]) + "\n"
    return re.sub(r"\n{3,}", "\n\n", page)


if __name__ == "__main__":
    Path(__file__).parents[1].joinpath("docs", "cli.md").write_text(text(), encoding="utf-8")

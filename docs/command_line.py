"""Writes docs/command-line.md from the commands themselves: python docs/command_line.py"""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path

import click

from onlineboost.cli.main import COMMANDS, main

PAGE = Path(__file__).with_name("command-line.md")
ORDER = ("run", "compare", "predict", "show", "serve", "replay", "top", "datasets", "reproduce", "potential", "bounds")
START = """\
# The command line

`onlineboost COMMAND --help` says the same as this page, which is made of it (`python docs/command_line.py`). If the
command is not found, [start](start.md#the-command-line) says where it is.

* Figures go to stdout, progress and errors to stderr. `--json` prints figures for a program to read.
* An error is one sentence that says what to do, and the exit code is 2.
* `ONLINEBOOST_DATA` names a folder with files of data sets, and `ONLINEBOOST_OFFLINE=1` says that none is to be
  downloaded ([your data](api/data.md#where-files-are-read-from)).
"""


def page() -> str:
    """The page as it should be."""
    parts = [START]
    for name in (*ORDER, *(name for name in COMMANDS if name not in ORDER)):
        context = click.Context(main, info_name="onlineboost")
        command = main.get_command(context, name)
        assert command is not None
        parts.append(f"## onlineboost {name}\n\n{_section(command, click.Context(command, context, name))}")
    return "\n".join(parts)


def _section(command: click.Command, context: click.Context) -> str:
    """Usage, what it does, examples, and a table of the options."""
    about, *examples = cleandoc(command.help or "").split("\b")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"```text\n{context.command_path} {usage}\n```\n", about.strip() + "\n"]
    for example in examples:
        block, _, rest = example.strip().partition("\n\n")
        lines.append("```text\n" + "\n".join(line.strip() for line in block.splitlines()) + "\n```\n")
        lines += [rest.strip() + "\n"] if rest.strip() else []
    lines.append("| option | what it does |\n|---|---|")
    for option in command.get_params(context):
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record:
            lines.append(_row(option, *record))
    return "\n".join(lines) + "\n"


def _row(option: click.Parameter, names: str, text: str) -> str:
    """A row of the table; words to choose from stand in the text, which can wrap."""
    if isinstance(option.type, click.Choice):
        names = names.partition(" [")[0]
        text = f"{text} One of {', '.join(f'`{word}`' for word in option.type.choices)}.".strip()
    return f"| `{names.replace(' RANGE', '')}` | {text.replace('|', ' or ')} |".replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

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

This page lists all commands and options, as `onlineboost COMMAND --help` does. The shortest run:

```sh
onlineboost run nursery
```

* If the shell does not find the command, see [start](start.md#the-command-line).
* *Test-then-train* means: every row is predicted, then learned.
* Figures go to stdout, progress and errors to stderr. `--json` prints figures for programs.
* An error says what to do. Its exit code is 2.
* The environment variable `ONLINEBOOST_DATA` names a folder with [data sets](api/data.md#where-files-are-read-from).
  `ONLINEBOOST_OFFLINE=1` forbids downloads.

(`python docs/command_line.py` writes this page.)
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
    records = _records(command, context)
    if context.info_name == "compare":  # which has nearly all that `run` has
        records = [record for record in records if record not in _records(main.get_command(context, "run"), context)]
        lines.append("The options of [run](#onlineboost-run) from `--target` to `--report`, and:\n")
    lines.append("| option | what it does |\n|---|---|")
    lines += [row for _, row in records]
    return "\n".join(lines) + "\n"


def _records(command: click.Command | None, context: click.Context) -> list[tuple[str, str]]:
    """Name and row of the table of each option."""
    assert command is not None
    options = [option for option in command.get_params(context) if isinstance(option, click.Option)]
    found = [(option, option.get_help_record(context)) for option in options]
    found = [(option, record) for option, record in found if option.opts != ["--help"]]
    return [(option.opts[0], _row(option, *record)) for option, record in found if record]


def _row(option: click.Parameter, names: str, text: str) -> str:
    """A row of the table; words to choose from stand in the text, which can wrap."""
    if isinstance(option.type, click.Choice):
        names = names.partition(" [")[0]
        words = ", ".join(f"`{word}`" for word in option.type.choices)
        some = "hoeffding-tree" in option.type.choices and "majority" not in option.type.choices
        text = f"{text} {'As for `run`, but no baseline.' if some else f'One of {words}.'}".strip()
    return f"| `{names.replace(' RANGE', '')}` | {text.replace('|', ' or ')} |".replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

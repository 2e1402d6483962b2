"""The command line: onlineboost run | predict | show | compare | tune | datasets | potential | bounds | reproduce."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from onlineboost import __version__
from onlineboost.cli.common import friendly_errors, friendly_warnings

# Name: (module, what `onlineboost --help` says, which is the first sentence of the command's own help).
COMMANDS = {
    "bounds": (".bounds", "How many weak learners and examples does an error rate take?"),
    "compare": (".run", "Test-then-train several models on the same SOURCE, in the same order."),
    "datasets": (".datasets", "List the data sets that `run` and `compare` know by name."),
    "potential": (
        ".bounds",
        "Draw phi_N(0), the error rate of OnlineMBBM, against the number of classes: the paper's figure.",
    ),
    "predict": (".saved_model", "Predict the rows of SOURCE, a file or - for a pipe, with a saved MODEL."),
    "reproduce": ("onlineboost_paper.command", "Run the paper's experiments and put our tables beside its own."),
    "run": (
        ".run",
        "Test-then-train one model on SOURCE: the name of a data set, a .csv, .parquet or .ndjson file, or - (a pipe).",
    ),
    "show": (".saved_model", "Tell what is in a saved MODEL: its kind, settings, columns, classes and size."),
    "tune": (".tune", "Tune a model's settings on SOURCE by successive halving."),
}


class LazyGroup(click.Group):
    """The commands of the table above. A command's module is imported when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = getattr(import_module(COMMANDS[name][0], "onlineboost.cli"), name)
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        with friendly_errors(), friendly_warnings():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listed = [click.Command(name, help=text) for name, (_, text) in COMMANDS.items()]
        click.Group(commands=listed).format_commands(ctx, formatter)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Online multiclass boosting: learn from a stream, one pass, one example at a time."""


if __name__ == "__main__":
    main()

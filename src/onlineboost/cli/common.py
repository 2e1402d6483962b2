"""What the commands share: messages, errors that a person can read, and numbers and lists in options."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape

err = Console(stderr=True)


@contextlib.contextmanager
def friendly_errors() -> Iterator[None]:
    """Errors of data and settings, all of them ValueErrors: the message and exit code 2, no traceback."""
    try:
        yield
    except ValueError as error:
        err.print("[bold red]Error:[/]", escape(str(error)), soft_wrap=True, highlight=False)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        err.print("Stopped.")
        raise SystemExit(130) from None


def number(text: str, option: str, takes: str = "a number or auto") -> float:
    """The number that an option was given."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} takes {takes}, got {text!r}") from None


def comma_separated(text: str) -> list[str]:
    """The words of an option, without blanks around them, and without empty ones."""
    return [part.strip() for part in text.split(",") if part.strip()]

"""The option of commands that can work on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import click

LOCAL = "local"  # a cluster that is started on this machine, for this command


def ray_option(what: str) -> Callable[[Any], Any]:
    """--ray [ADDRESS], with what the command does then."""
    return click.option(
        "--ray",
        is_flag=False,
        flag_value=LOCAL,
        metavar="[ADDRESS]",
        callback=_at_hand,
        help=f"{what}; without ADDRESS, on one that is started here.",
    )


def _at_hand(context: click.Context, option: click.Parameter, ray: str | None) -> str | None:
    if ray is not None and find_spec("ray") is None:
        raise click.BadParameter("it needs Ray: pip install 'onlineboost[ray]'", param_hint="--ray")
    return ray


def address_of(ray: str) -> str | None:
    """The address that such an option names; None: a cluster is to be started."""
    return None if ray == LOCAL else ray

"""Addresses of Ray clusters: Ray itself waits for minutes for one that is not there."""

from __future__ import annotations

import re
import socket

from onlineboost.cluster.errors import ClusterError

PATIENCE = 10.0  # seconds until someone has to answer
WORDS = ("auto", "local")  # that Ray takes for an address, too


def check_address(address: str) -> None:
    """Someone answers there. (What Ray has other ways to reach, such as "ray://...", is left to it.)"""
    if address in WORDS or "://" in address:
        return
    found = re.fullmatch(r"\[?([^\[\]\s]+)\]?:(\d{1,5})", address)
    if found is None:
        raise ClusterError(f"the address of a Ray cluster is HOST:PORT, or auto; got {address!r}")
    try:
        socket.create_connection((found[1], int(found[2])), PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"no Ray cluster answers at {address} ({error}): check the address, or start one there (ray start)"
        ) from error

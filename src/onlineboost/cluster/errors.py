"""What goes wrong with a line of machines."""

from __future__ import annotations


class Lost(Exception):
    """A part of the chain, or what it had made, is gone: go back to the last checkpoint."""


class ClusterError(RuntimeError):
    """There is no cluster, or the line could not be put together again."""

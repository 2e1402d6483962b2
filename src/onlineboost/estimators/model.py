"""What a fitted classifier has learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onlineboost.chain.chain import Chain
from onlineboost.data.encoder import Encoder
from onlineboost.data.labels import Labels
from onlineboost.trees.state import Columns


@dataclass
class Model:
    """What a fitted classifier has learned."""

    encoder: Encoder
    labels: Labels
    chain: Chain
    damage: str = ""  # what went wrong in the middle of a row, if anything did: it cannot be used any more
    compiled: bool = False  # whether its kernels are, in this process

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "compiled": False}

    @property
    def k(self) -> int:
        return len(self.labels.classes)

    @property
    def columns(self) -> Columns:
        return Columns(len(self.encoder.numeric), self.encoder.sizes)


def uncompiled(chain: Chain, error: Exception) -> str:
    """What to tell the author of a booster whose kernels do not compile; Numba takes some hundred lines for it."""
    lines = [line.strip() for line in str(error).splitlines()]
    why = next((line for line in reversed(lines) if line.startswith(("File", "Cannot", "Unknown", "No "))), lines[0])
    booster = " or ".join({type(segment.booster).__name__: 0 for segment in chain.segments}) or "this model"
    return f"the kernels of {booster} do not compile: {why}. NUMBA_DISABLE_JIT=1 runs them as plain Python, to debug"

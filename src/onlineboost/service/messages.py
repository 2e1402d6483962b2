"""What goes in and out, as types: requests are checked by them, and the OpenAPI page is made of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from onlineboost.chain.weights import MOST_WEIGHT

VALUE = {"type": ["string", "number", "boolean", "null"]}
ROW = {
    "description": "A value for each column, by name; what is left out or null is missing. Or a list in their order.",
    "oneOf": [{"type": "object", "additionalProperties": VALUE}, {"type": "array", "items": VALUE}],
}
# Its values are checked by the model, which names the column that is wrong.
Row = Annotated[dict[str, Any] | list[Any], Meta(extra_json_schema=ROW)]
Label = Annotated[str, Meta(min_length=1)] | int | bool
Id = Annotated[str, Meta(min_length=1, max_length=200, description="Your own; text. The same one again is a repeat.")]
Weight = Annotated[float, Meta(gt=0.0, le=MOST_WEIGHT, description="How much the example counts.")]
Sets = Annotated[float, Meta(gt=0.0, lt=1.0, description="Share of the rows whose label is to be in their set.")]
Status = Literal["accepted", "repeated", "unknown", "conflict"]


class Ask(Struct, forbid_unknown_fields=True):
    """A row to be predicted."""

    row: Row
    explain: bool = False
    sets: Sets | None = None


class Example(Struct, forbid_unknown_fields=True):
    """A row and its label, to be learned. With an id it is learned once, however often it is sent."""

    row: Row
    label: Label
    id: Id | None = None
    weight: Weight = 1.0


class Event(Struct, forbid_unknown_fields=True):
    """A row to be predicted now, and learned when its label is there."""

    row: Row
    id: Id | None = None
    explain: bool = False
    sets: Sets | None = None


class Late(Struct, forbid_unknown_fields=True):
    """The label of an event."""

    id: Id
    label: Label
    weight: Weight = 1.0


class Promotion(Struct, forbid_unknown_fields=True):
    """Which model is to answer from now on."""

    model: str


class Why(Struct):
    """Which columns and parts of the model speak for the label rather than for the runner-up, the largest first."""

    runner_up: Label | None
    margins: dict[str, float]
    paths: list[str]


class Prediction(Struct, omit_defaults=True):
    """The likeliest label (null: nothing has been learned yet), and the probabilities of all."""

    label: Label | None
    probabilities: dict[str, float]
    id: str | None = None  # of an event
    status: Status | None = None  # of an event
    explanation: Why | None = None
    set: list[Label] | None = None  # the prediction set, the likeliest first
    wanted: bool = False  # of an event: its label would help


class Receipt(Struct, omit_defaults=True):
    """What has become of an example or a label, which is on disk now.

    accepted: it is learned once, at its place. repeated: it was there already. unknown: no event of this id is there.
    conflict: there is an event of this id with another row or label, and it stays as it is.
    """

    status: Status
    place: int | None = None
    id: str | None = None


class Problem(Struct, omit_defaults=True):
    """What is wrong with a request, and which of its items and columns."""

    error: str
    row: int | None = None
    column: str | None = None


class Line(Struct, forbid_unknown_fields=True):
    """What a source has: an example, an event whose label is still to come, or (without a row) the label of one."""

    row: Row | None = None
    label: Label | None = None
    id: Id | None = None
    weight: Weight = 1.0


class Read(NamedTuple):
    """What was read from a source: a name for it, and a `Line` as JSON, or why it cannot be read."""

    key: str
    body: bytes
    error: str = ""


class Stored(Struct, array_like=True):
    """What was answered to an event, as the log keeps it."""

    label: Label | None
    probabilities: dict[str, float]


encode = msgspec.json.Encoder(enc_hook=lambda value: value.item()).encode  # numbers of NumPy
decode = msgspec.json.Decoder().decode
decode_stored = msgspec.json.Decoder(Stored).decode
decode_line = msgspec.json.Decoder(Line).decode


class Wrong(Exception):
    """A request that cannot be answered: the status, and why; which of its items and columns."""

    def __init__(self, status: int, error: str, row: int | None = None, column: str | None = None) -> None:
        super().__init__(error)
        self.status, self.problem = status, Problem(error, row, column)


def checked(decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A decoder whose only error is `Wrong`: the body is not JSON (400), or not what is wanted (422)."""

    def read(body: Any) -> Any:
        try:
            return decode(body)
        except (RecursionError, UnicodeDecodeError) as error:  # values too deep, text that is not UTF-8
            raise Wrong(400, f"the body is not JSON: {error}") from None
        except msgspec.DecodeError as error:
            raise _not_decoded(error) from None

    return read


def _not_decoded(error: msgspec.DecodeError) -> Wrong:
    text = str(error)
    if not isinstance(error, msgspec.ValidationError):
        return Wrong(400, f"the body is not JSON: {text}")
    found = re.search(r"`\$(?:\[(\d+)\])?\.?([^`]*)`$", text)
    row = int(found[1]) if found and found[1] else None
    what = text[: found.start()].removesuffix(" - at ") if found else text
    if "unknown field" in what:
        what += ": GET /openapi.json says which there are"
    return Wrong(422, f"{found[2]}: {what}" if found and found[2] else what, row)

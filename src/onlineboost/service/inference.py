"""The Open Inference Protocol, version 2, over HTTP: what clients of KServe, MLServer and Triton speak.

A column is an input tensor of its name with a value for each row. One matrix, which is not a column, has the rows in
the order of the columns. Out come `label`, `probabilities` (rows, classes) and `classes`, the labels in their order.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from onlineboost import __version__
from onlineboost.service.follower import Follower
from onlineboost.service.messages import Ask, Wrong, checked
from onlineboost.service.service import Service

PATH = re.compile(r"/v2/models/(?P<model>[^/]+)(?:/versions/[^/]+)?(?P<what>/infer|/ready)?")
TYPES = {"BOOL": "?", "FP32": "<f4", "FP64": "<f8"} | {
    f"{sign}INT{bits}": f"<{kind}{bits // 8}" for sign, kind in (("", "i"), ("U", "u")) for bits in (8, 16, 32, 64)
}


class Tensor(Struct):
    """Values of a column, or of all."""

    name: str
    shape: Annotated[list[int], Meta(max_length=8)]
    datatype: str
    data: list[Any] | None = None
    parameters: dict[str, Any] = {}


class Wanted(Struct):
    """An output that is asked for."""

    name: str


class Infer(Struct):
    """A request; what else is in it makes no difference here."""

    inputs: list[Tensor]
    outputs: list[Wanted] = []
    id: str = ""


_infer = checked(msgspec.json.Decoder(Infer).decode)


async def answer(service: Service, method: str, path: str, body: bytes, json_bytes: int | None) -> Any:
    """What is said, as JSON; `json_bytes` is how long the JSON is that is before binary data, if there are any."""
    if path == "/v2":
        return {"name": "onlineboost", "version": __version__, "extensions": ["binary_tensor_data"]}
    if path in ("/v2/health/live", "/v2/health/ready"):
        return {path.rpartition("/")[2]: True}
    found = PATH.fullmatch(path)
    if found is None:
        raise Wrong(404, f"{path} is not in the protocol")
    if found["model"] not in service.followers:
        raise Wrong(404, f"there is no model {found['model']!r}: they are {', '.join(service.followers)}")
    by = service.followers[found["model"]]
    clf = by.clf
    if found["what"] == "/infer":
        if method != "POST":
            raise Wrong(405, "infer takes POST")
        return await _answer_infer(service, by, found["model"], body, json_bytes)
    if "_model" not in clf.__dict__:
        if found["what"]:
            raise Wrong(503, "nothing has been learned yet")
        return {"name": found["model"], "versions": ["1"], "platform": "onlineboost", "inputs": [], "outputs": []}
    if found["what"]:
        return {"name": found["model"], "ready": True}
    encoder = clf._model.encoder
    kinds = {c: "BYTES" for c in encoder.nominal}
    inputs = [{"name": name, "datatype": kinds.get(c, "FP64"), "shape": [-1]} for c, name in enumerate(encoder.names)]
    outputs: list[dict[str, Any]] = [{"name": "label", "datatype": "BYTES", "shape": [-1]}]
    outputs.append({"name": "probabilities", "datatype": "FP64", "shape": [-1, -1]})
    outputs.append({"name": "classes", "datatype": "BYTES", "shape": [-1]})
    about = {"name": found["model"], "versions": ["1"], "platform": "onlineboost"}
    return about | {"inputs": inputs, "outputs": outputs}


async def _answer_infer(
    service: Service, by: Follower, model: str, body: bytes, json_bytes: int | None
) -> dict[str, Any]:
    given = _infer(body[:json_bytes] if json_bytes is not None else body)
    at = len(body) if json_bytes is None else json_bytes
    columns = []
    for tensor in given.inputs:
        data, at = _values(tensor, body, at)
        columns.append((tensor, data))
    clf = by.clf
    names = () if "_model" not in clf.__dict__ else clf._model.encoder.names
    said = await service.predict([Ask(row) for row in _rows(columns, names)], by)
    if said and not said[0].probabilities:
        raise Wrong(503, "nothing has been learned yet")
    classes = list(dict.fromkeys(name for one in said for name in one.probabilities))  # models of keys know their own
    p = [one.probabilities.get(name, 0.0) for one in said for name in classes]
    labels = [str(one.label) for one in said]
    outputs: list[dict[str, Any]] = [{"name": "label", "datatype": "BYTES", "shape": [len(said)], "data": labels}]
    outputs.append({"name": "probabilities", "datatype": "FP64", "shape": [len(said), len(classes)], "data": p})
    outputs.append({"name": "classes", "datatype": "BYTES", "shape": [len(classes)], "data": classes})
    wanted = {output.name for output in given.outputs} or {output["name"] for output in outputs}
    outputs = [output for output in outputs if output["name"] in wanted]
    return {"model_name": model, "model_version": "1", "id": given.id, "outputs": outputs}


def _values(tensor: Tensor, body: bytes, at: int) -> tuple[list[Any], int]:
    """The values of a tensor, in one list, and where the binary data of the next one begin."""
    size, number = tensor.parameters.get("binary_data_size"), math.prod(tensor.shape)
    if size is None:
        data = tensor.data or []
        while data and isinstance(data[0], list):
            data = [value for part in data for value in (part if isinstance(part, list) else [part])]
    else:
        part = body[at : at + size] if isinstance(size, int) else b""
        at += len(part)
        try:
            data = _bytes(part) if tensor.datatype == "BYTES" else np.frombuffer(part, TYPES[tensor.datatype]).tolist()
        except (KeyError, ValueError) as error:
            raise Wrong(400, f"input {tensor.name!r}: {tensor.datatype} of {len(part)} bytes: {error}") from None
    if len(data) != number or min(tensor.shape, default=0) < 0:
        raise Wrong(400, f"input {tensor.name!r}: {len(data)} values, and its shape is {tensor.shape}")
    return data, at


def _bytes(part: bytes) -> list[str]:
    """Texts, each after its length in four bytes."""
    out, at = [], 0
    while at < len(part):
        end = at + 4 + int.from_bytes(part[at : at + 4], "little")
        if end > len(part):
            raise ValueError("a text is cut off")
        out.append(part[at + 4 : end].decode())
        at = end
    return out


def _rows(columns: list[tuple[Tensor, list[Any]]], names: tuple[str, ...]) -> list[Any]:
    if not columns:
        raise Wrong(400, "there are no inputs")
    first, data = columns[0]
    if len(columns) == 1 and len(first.shape) == 2 and first.name not in names:
        wide = first.shape[1]
        return [data[at : at + wide] for at in range(0, len(data), max(wide, 1))]
    rows = len(data)
    for tensor, values in columns:
        if len(values) != rows:
            raise Wrong(400, f"input {tensor.name!r} has {len(values)} values, and {first.name!r} has {rows}")
    return [{tensor.name: values[at] for tensor, values in columns} for at in range(rows)]

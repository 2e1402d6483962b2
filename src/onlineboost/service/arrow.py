"""Bodies in the streaming format of Apache Arrow IPC: a table in, a table out. pyarrow reads and writes them.

A row of the table is an item of the request: the columns `label`, `id` and `weight` are fields of the item, and all
others are the columns of its `row`. If there is a column `row` of structs, the others are all fields, as in JSON.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import msgspec
import numpy as np

from onlineboost.service.messages import Wrong, encode

KIND = b"application/vnd.apache.arrow.stream"
FIELDS = {"label", "id", "weight"}
NUMBER, BITS = 8, 8  # bytes that a value counts as; bits of a byte, of which each value but null takes one


def reader(item: Any, most: int) -> Callable[[bytes], list[Any]]:
    """What reads a body: a list of `item`; msgspec.DecodeError: a value is none for its field. `most` bytes as rows."""
    with_rows = "row" in {field.name for field in msgspec.structs.fields(item)}

    def read(body: bytes) -> list[Any]:
        own, rows = _tables(body)
        if len(rows) > BITS * len(body) or _size(own) + _size(rows) > most:
            raise Wrong(413, "the table is too large: send several requests")
        names, columns = rows.column_names, [_values(column) for column in rows.columns]
        values = zip(*columns, strict=True) if columns else [()] * len(rows)
        parts = {name: _values(column) for name, column in zip(own.column_names, own.columns, strict=True)}
        if names or with_rows:
            parts["row"] = [dict(zip(names, row, strict=True)) for row in values]
        given = [dict(zip(parts, each, strict=True)) for each in zip(*parts.values(), strict=True)]
        return list(msgspec.convert(given, list[item]))

    return read


def _tables(body: bytes) -> tuple[Any, Any]:
    """The fields of the items but for `row`, and the rows: checked, so that nothing is read that is not in the body."""
    if find_spec("pyarrow") is None:
        raise Wrong(415, "Arrow takes pyarrow, which the service does not have here: send JSON")
    import pyarrow as pa

    try:
        for message in pa.ipc.MessageReader.open_stream(body):
            if message.type != "schema" and _is_compressed(memoryview(message.metadata), message.type == "dictionary"):
                raise Wrong(415, "the table is compressed: send it as it is")
        table = pa.ipc.open_stream(body).read_all()
        table.validate(full=True)
        names = _names(table)
        if "row" in names and pa.types.is_struct(table.schema.field("row").type):
            own, rows = table.drop_columns("row"), pa.Table.from_struct_array(table["row"])
        else:
            own = table.select([name for name in names if name in FIELDS])
            rows = table.select([name for name in names if name not in FIELDS])
    except (pa.ArrowException, OSError, MemoryError, ValueError, struct.error) as error:
        raise Wrong(400, f"the body is not a stream of Arrow IPC: {error}") from None
    for name, column in zip(own.column_names + _names(rows), own.columns + rows.columns, strict=True):
        _check_kind(name, column.type)
    return own, rows


def _is_compressed(message: memoryview, is_dictionary: bool) -> bool:
    """Whether a batch is (Message.fbs: RecordBatch.compression). It could have any size when it is read."""

    def field(table: int, number: int) -> int:
        known = table - struct.unpack_from("<i", message, table)[0]
        size, at = struct.unpack_from("<H", message, known)[0], 4 + 2 * number
        offset = struct.unpack_from("<H", message, known + at)[0] if at < size else 0
        return table + offset if offset else 0

    def follow(at: int) -> int:
        return at + int(struct.unpack_from("<I", message, at)[0])

    batch = follow(field(follow(0), 2))
    return field(follow(field(batch, 1)) if is_dictionary else batch, 3) > 0


def _names(table: Any) -> list[str]:
    names: list[str] = table.column_names
    if len({*names}) < len(names):
        raise Wrong(422, "two columns have the same name: give each one of its own")
    return names


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _check_kind(name: str, kind: Any) -> None:
    from pyarrow import types

    inner = kind.value_type if types.is_dictionary(kind) else kind
    numeric = types.is_integer(inner) or types.is_floating(inner) or types.is_boolean(inner) or types.is_null(inner)
    if not numeric and not _is_text(inner):
        raise Wrong(422, f"a column of {kind}: cast it to numbers, text or booleans", None, name)


def _size(table: Any) -> int:
    """Bytes of all rows, about, if each has its names and texts."""
    names = len(table) * sum(len(name) + NUMBER for name in table.column_names)
    return names + sum(_text_size(chunk) for column in table.columns for chunk in column.chunks)


def _text_size(chunk: Any) -> int:
    from pyarrow import types

    if types.is_dictionary(chunk.type):
        if not _is_text(chunk.type.value_type):
            return 0
        lengths, taken = _lengths(chunk.dictionary), chunk.indices.drop_null().to_numpy(zero_copy_only=False)
        return int(lengths.sum() + lengths[taken].sum())
    return int(_lengths(chunk).sum()) if _is_text(chunk.type) else 0


def _lengths(texts: Any) -> np.ndarray:
    from pyarrow import compute

    if str(texts.type) == "string_view":  # several may be the same bytes; a length is the first of four numbers
        views = np.frombuffer(texts.buffers()[1] or b"", np.int32)[::4].astype(np.int64)
        return views[texts.offset : texts.offset + len(texts)]
    found: np.ndarray = compute.binary_length(texts).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _values(column: Any) -> list[Any]:
    """The values of a column as those of JSON."""
    from pyarrow import types

    if not types.is_dictionary(column.type):
        return list(column.to_pylist())
    out: list[Any] = []
    for chunk in column.chunks:
        words = chunk.dictionary.to_pylist()
        out += [None if at is None else words[at] for at in chunk.indices.to_pylist()]
    return out


def write(items: Sequence[Any]) -> bytes:
    """What is answered, as a table with a column for each field that any of the items has."""
    import pyarrow as pa

    rows = msgspec.to_builtins(items, enc_hook=lambda value: value.item())
    table = pa.table(
        {name: _array([row.get(name) for row in rows]) for name in dict.fromkeys(n for r in rows for n in r)}
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def _array(values: list[Any]) -> Any:
    """Values of several kinds, as labels may be, are written as text."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([each if each is None or type(each) is str else encode(each).decode() for each in values])

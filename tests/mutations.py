"""Model files that were changed, byte by byte or with all checksums made right again; and what they do when loaded.

    python tests/mutations.py --number 10000 --seed 0

A changed file must be refused with a `ModelFileError`, or be loaded as what it was. If the checksums were made right
again it may also be loaded as another model; that one must then predict and learn without an index out of range, which
NUMBA_BOUNDSCHECK=1 (`make fuzz`) makes sure of.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from zlib import crc32

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from make_golden_files import FOLDER, golden_stream
from onlineboost import load
from onlineboost.storage import ModelFileError
from onlineboost.storage.container import ALIGN, MAGIC, PREAMBLE

CLEAN = (ValueError, TypeError, RuntimeError)  # of a model that was loaded, and has settings that are none
ODD = (
    -1,
    0,
    1,
    2,
    3,
    7,
    255,
    -(2**31),
    2**31 - 1,
    2**62,
    -(2**63),
    10**30,
    0.5,
    -1.0,
    1e308,
    None,
    True,
    "x",
    "",
    [],
    {},
)


# ----------------------------------------------------------------------------------------------------- bytes alone


def flipped(data, draw):
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        out[draw.randrange(len(out))] ^= 1 << draw.randrange(8)
    return bytes(out)


def inserted(data, draw):
    at = draw.randrange(len(data) + 1)
    return data[:at] + draw.randbytes(draw.choice((1, 4, 64))) + data[at:]


def deleted(data, draw):
    at = draw.randrange(len(data))
    return data[:at] + data[at + draw.choice((1, 4, 64, 1000)) :]


def truncated(data, draw):
    return data[: draw.randrange(len(data))]


def doubled(data, draw):
    at, n = draw.randrange(len(data)), draw.choice((1, 8, 64, 4096))
    return data[: at + n] + data[at : at + n] + data[at + n :]


def overwritten(data, draw):
    at, n = draw.randrange(len(data)), draw.choice((1, 4, 8, 64))
    fill = draw.choice((b"\0", b"\xff", draw.randbytes(1))) * n
    return (data[:at] + fill + data[at + n :])[: len(data)]


def extended(data, draw):
    return data + draw.choice((b"\0", draw.randbytes(7), data))


BYTES = (flipped, inserted, deleted, truncated, doubled, overwritten, extended)


# ------------------------------------------------------------------------------------------- with checksums made right


def parts(data):
    """Header and arrays of a good file."""
    length = int.from_bytes(data[12:16], "little")
    header = json.loads(data[PREAMBLE.size : PREAMBLE.size + length])
    at, arrays = PREAMBLE.size + length, []
    for dtype, shape, _ in header["arrays"]:
        at = -(-at // ALIGN) * ALIGN
        size = int(np.prod(shape, dtype=np.int64)) * int(dtype[1])
        arrays.append(bytearray(data[at : at + size]))
        at += size
    return header, arrays


def joined(header, arrays):
    """A file of these, with checksums that are right."""
    for place, array in zip(header["arrays"], arrays, strict=True):
        place[2] = crc32(array)
    text = json.dumps(header, separators=(",", ":")).encode()
    body, at = [text], PREAMBLE.size + len(text)
    for array in arrays:
        gap = -at % ALIGN
        body += [bytes(gap), bytes(array)]
        at += gap + len(array)
    head = PREAMBLE.pack(MAGIC, 1, len(text), at, crc32(text), 0)[:-4]
    return head + crc32(head).to_bytes(4, "little") + b"".join(body)


def forged_array(data, draw):
    """Another number in an array: an index, mostly, since the tables of trees are the largest of those with bytes."""
    header, arrays = parts(data)
    at = draw.choice([number for number, array in enumerate(arrays) if array])
    size = {"u1": 4, "b1": 1}.get(header["arrays"][at][0], 8)
    where = draw.randrange(max(1, len(arrays[at]) // size)) * size
    if header["arrays"][at][0] == "f8":
        value = np.float64(draw.choice((np.nan, np.inf, -1.0, 1e300, 0.5, -1e9, 2.0**60))).tobytes()
    else:
        value = (draw.choice((-1, 0, 1, 2, 5, 17, 100, 2**20, 2**31 - 1, -(2**31))) % 2**64).to_bytes(8, "little")
    length = len(arrays[at])
    arrays[at][where : where + size] = value[:size]
    del arrays[at][length:]
    return joined(header, arrays)


def forged_shape(data, draw):
    """An array that is longer or shorter, and said to be so."""
    header, arrays = parts(data)
    at = draw.randrange(len(arrays))
    dtype, shape, _ = header["arrays"][at]
    rows = max(0, shape[0] + draw.choice((-1, 1, 2, -shape[0], 16, 40)))
    width = int(np.prod(shape[1:], dtype=np.int64)) * int(dtype[1])
    arrays[at] = (arrays[at] + bytes(width * rows))[: width * rows]
    header["arrays"][at][1] = [rows, *shape[1:]]
    return joined(header, arrays)


def forged_header(data, draw):
    """Another value somewhere in the header; or one is gone, or there twice, or changes places with another."""
    header, arrays = parts(data)
    spots = []

    def visit(node):
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in items:
            spots.append((node, key))
            if isinstance(value, dict | list):
                visit(value)

    visit(header["content"])
    node, key = draw.choice(spots)
    how = draw.randrange(4)
    if how == 0:
        other, name = draw.choice(spots)
        node[key], other[name] = other[name], node[key]
    elif how == 1 and isinstance(node, list):
        node.insert(key, node[key])
    elif how == 1:
        del node[key]
    elif how == 2 and type(node[key]) is int:
        node[key] += draw.choice((-1, 1, 2, 100))
    else:
        node[key] = draw.choice(ODD)
    try:
        return joined(header, arrays)
    except (ValueError, RecursionError):  # a part that has been put into itself
        return truncated(data, draw)


FORGED = (forged_array, forged_array, forged_shape, forged_header, forged_header)


# ------------------------------------------------------------------------------------------------------------ trials


def outcome(data, path, original, rows):
    """What happens: "refused", "as it was", "another model" or "another model, refused later"; else it raises."""
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            clf = load(path)
        except ModelFileError as error:
            return "refused" if path.name in str(error) else f"refused without a name: {error}"
        clf.save(path)
        if path.read_bytes() == original:
            return "as it was"
        X, y, weight = rows
        try:
            if hasattr(clf, "_model"):
                clf.predict(X)
                clf.predict_proba(X)
            clf.partial_fit(X, y, sample_weight=weight)
            clf.predict(X)
        except IndexError:
            raise
        except CLEAN:
            return "another model, refused later"
    return "another model"


def golden_models():
    return sorted(FOLDER.glob("*/*half.olb"))


def trial(seed, models, folder, rows):
    """One changed file; how it was changed, and what happened."""
    draw = random.Random(seed)
    path = models[draw.randrange(len(models))]
    data = path.read_bytes()
    change = draw.choice(draw.choice((BYTES, FORGED)))
    changed = change(data, draw)
    result = outcome(changed, folder / "changed.olb", data, rows)
    assert change in FORGED or result in ("refused", "as it was"), result
    return change.__name__, result


def rows_to_learn():
    X, y, weight = golden_stream(460, seed=3)
    return X[420:], y[420:], weight[420:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--number", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    models, rows, start = golden_models(), rows_to_learn(), time.time()
    found = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for path in models:  # so that everything is compiled, and in memory
            outcome(path.read_bytes(), Path(folder, "changed.olb"), b"", rows)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for seed in range(arguments.seed, arguments.seed + arguments.number):
            try:
                found[trial(seed, models, Path(folder), rows)] += 1
            except BaseException:
                print(f"seed {seed}", file=sys.stderr)
                raise
    for (change, result), count in sorted(found.items()):
        print(f"{change:<16}{result:<32}{count:>6}")
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{sum(found.values()):,} files, {time.time() - start:.0f} s; peak memory grew by {more:.0f} MB meanwhile")


if __name__ == "__main__":
    main()

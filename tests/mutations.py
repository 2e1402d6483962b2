"""Model files that were changed, byte by byte or with all checksums made right again; and what they do when loaded.

    python tests/mutations.py --number 10000 --seed 0 [--panel]

A changed file must be refused with a `ModelFileError`, or be loaded as what it was. If the checksums were made right
again it may also be loaded as another model. That one must then give probabilities that are finite and add up to 1,
learn without an index out of range, which NUMBA_BOUNDSCHECK=1 (`make fuzz`) makes sure of, and give such probabilities
again. Whatever a file says, loading it takes no more memory than `most_memory`. With --panel the files are those of
the panel and its members alone, all with checksums made right again.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections import Counter
from functools import cache
from pathlib import Path
from zlib import crc32

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from helpers import arrays_of, panel_arrays
from make_golden_files import FOLDER, golden_stream
from onlineboost import AdaBoostOLM, LeastSquares, OnlineBoostClassifier, load, lookup
from onlineboost.boosters.mbbm import CACHE_MEGABYTES
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


FLOATS = (np.nan, np.inf, -np.inf, -1.0, 1e300, 0.5, -1e9, 2.0**60, 1e12, 30.0, 1e-30, 0.0, -1e-9)
WHOLE = (-1, 0, 1, 2, 5, 17, 100, 2**20, 2**31 - 1, -(2**31))
BEHIND_BYTES = ("i4", "i4", "i8", "f4", "f8", "u1")  # what an array of bytes may stand for: tables of trees, the panel


def forged_array(data, draw):
    """Other numbers in an array, one, some or all of them; each array as often as any other."""
    header, arrays = parts(data)
    at = draw.choice([number for number, array in enumerate(arrays) if array])
    dtype = header["arrays"][at][0]
    if dtype == "u1":
        dtype = draw.choice(BEHIND_BYTES)
    size = int(dtype[1])
    where = draw.randrange(max(1, len(arrays[at]) // size)) * size
    if dtype[0] == "f":
        with np.errstate(over="ignore"):
            value = np.array(draw.choice(FLOATS)).astype(dtype).tobytes()
    else:
        value = (draw.choice(WHOLE) % 2**64).to_bytes(8, "little")
    length, times = len(arrays[at]), draw.choice((1, 1, 1, 4, 64, 1 << 20))
    end = min(length, where + times * size)
    arrays[at][where:end] = (value[:size] * min(times, length))[: end - where]
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


peaks = []  # bytes that loading took at most, and those of the file


def most_memory(data):
    """Bytes that loading a file may take: three times its own, and more where its header is large (model-files.md)."""
    header = int.from_bytes(data[12:16], "little") if len(data) >= 16 else 0
    addresses = (
        int(CACHE_MEGABYTES * 2**20) if b'"mbbm"' in data else 0
    )  # of costs met before; memory only when they are met
    return 3 * len(data) + 64_000_000 + 60 * max(0, min(header, len(data)) - 1_000_000) + addresses


def loaded(path, data):
    """The model in a file; notes what that took."""
    tracemalloc.start()
    try:
        return load(path)
    finally:
        peaks.append((tracemalloc.get_traced_memory()[1], len(data)))
        tracemalloc.stop()
        assert peaks[-1][0] <= most_memory(data), f"loading {len(data):,} bytes took {peaks[-1][0]:,}"


def outcome(data, path, original, rows):
    """What happens: "refused", "as it was", "another model" or "another model, refused later"; else it raises."""
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            clf = loaded(path, data)
        except ModelFileError as error:
            return "refused" if path.name in str(error) else f"refused without a name: {error}"
        clf.save(path)
        if original and path.read_bytes() == saved_again(original):
            return "as it was"
        X, y, weight = rows
        try:
            if hasattr(clf, "_model"):
                clf.predict(X)
                check_probabilities(clf, X)
            clf.partial_fit(X, y, sample_weight=weight)
            clf.predict(X)
        except IndexError:
            raise
        except CLEAN:
            return "another model, refused later"
        check_probabilities(clf, X)
        check_state(clf._model.chain)
    return "another model"


@cache
def saved_again(data):
    """A file as this version writes it: it may have fields that older versions did not know."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "again.olb"
        path.write_bytes(data)
        load(path).save(path)
        return path.read_bytes()


def check_state(chain):
    members = [member for segment in chain.segments for member in getattr(segment.learners, "members", ())]
    for array in [*panel_arrays(chain), *arrays_of(tuple(members))]:
        assert array.dtype.kind != "f" or np.isfinite(array).all(), "what was learned is not finite"


def check_probabilities(clf, X):
    p = clf.predict_proba(X)
    assert np.isfinite(p).all(), "a probability is not finite"
    assert (p >= 0.0).all(), "a probability is negative"
    assert np.allclose(p.sum(axis=1), 1.0, rtol=0.0, atol=1e-6), "probabilities do not add up to 1"


PANEL = ("eager-trees", "nearest-neighbours", "least-squares", "refitted-trees", "online-boost")


def golden_models():
    return sorted(FOLDER.glob("*/*half.olb"))


def panel_models(folder):
    """Models of the panel and of its members, with few learners and rows: most that can be forged matters."""
    X, y, weight = golden_stream(90, seed=5)
    made = [lookup.make(name, n_learners=2) for name in PANEL[:-1]]
    made += [LeastSquares(cosines=False), OnlineBoostClassifier(2), AdaBoostOLM(2, panel=True)]
    for number, clf in enumerate(made):
        clf.partial_fit(X, y, sample_weight=weight).save(folder / f"panel {number}.olb")
    golden = [path for path in golden_models() if path.name.startswith(PANEL)]
    return [*sorted(folder.glob("panel *.olb")), *golden]


def trial(seed, models, folder, rows, kinds=(BYTES, FORGED)):
    """One changed file; how it was changed, and what happened."""
    draw = random.Random(seed)
    path = models[draw.randrange(len(models))]
    data = path.read_bytes()
    change = draw.choice(draw.choice(kinds))
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
    parser.add_argument("--panel", action="store_true")
    arguments = parser.parse_args()
    rows, start = rows_to_learn(), time.time()
    found = Counter()
    with tempfile.TemporaryDirectory() as folder:
        models = panel_models(Path(folder)) + ([] if arguments.panel else golden_models())
        kinds = (FORGED,) if arguments.panel else (BYTES, FORGED)
        for path in models:  # so that everything is compiled, and in memory
            outcome(path.read_bytes(), Path(folder, "changed.olb"), b"", rows)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for seed in range(arguments.seed, arguments.seed + arguments.number):
            try:
                found[trial(seed, models, Path(folder), rows, kinds)] += 1
            except BaseException:
                print(f"seed {seed}", file=sys.stderr)
                raise
    for (change, result), count in sorted(found.items()):
        print(f"{change:<16}{result:<32}{count:>6}")
    most, size = max(peaks, key=lambda peak: peak[0] - 3 * peak[1])
    ratio = max(peak / size for peak, size in peaks if size > 100_000)
    print(f"loading took at most {most:,} bytes for a file of {size:,}, {ratio:.2f} times one of more than 100,000")
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{sum(found.values()):,} files, {time.time() - start:.0f} s; peak memory grew by {more:.0f} MB meanwhile")


if __name__ == "__main__":
    main()

"""Two streams that change, a million rows each, from MOA's own generators: Agrawal's ten functions, and LED digits.

    .bench/capymoa/bin/python benchmarks/moa_streams.py FOLDER          writes FOLDER/agrawal.npz and FOLDER/led.npz

Published comparisons of stream learners use the like of them. `make .bench/capymoa/installed` installs CapyMOA, which
brings MOA; nothing else but NumPy is imported. Each change is abrupt: over about 50 rows the old and the new concept
take turns by chance. Each concept has a seed of its own (`-i`): MOA starts every generator with 1 otherwise, and then
concepts have the same rows, noise included.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from peers import Stream

ROWS = 1_000_000
WIDTH = 50


def changing(concepts: list[str], every: int) -> str:
    """MOA's words for a stream that goes from each concept to the next after so many rows."""
    words = concepts[-1]
    for concept in reversed(concepts[:-1]):
        words = f"ConceptDriftStream -s ({concept}) -d ({words}) -p {every} -w {WIDTH}"
    return words


SWAPPED = (7, 5, 3, 1, 3, 5, 7)  # segments of the digits that change places with columns of noise, concept by concept
STREAMS = {
    "agrawal": changing(
        [f"generators.AgrawalGenerator -f {function} -i {function}" for function in range(1, 11)], ROWS // 10
    ),
    "led": changing(
        [f"generators.LEDGeneratorDrift -d {count} -n 10 -i {seed}" for seed, count in enumerate(SWAPPED, 1)], ROWS // 7
    ),
}


def generate(words: str, rows: int) -> Stream:
    """The first rows of a stream of MOA: what `words` say after `ConceptDriftStream`."""
    from capymoa.stream import MOAStream
    from moa.streams import ConceptDriftStream

    made = MOAStream(moa_stream=ConceptDriftStream(), CLI=words.partition(" ")[2])
    header = made.get_schema().get_moa_header()
    columns = header.numAttributes() - 1
    nominal = {j: int(header.attribute(j).numValues()) for j in range(columns) if header.attribute(j).isNominal()}
    table = np.empty((rows, columns + 1))
    for row in table:
        row[:] = made.moa_stream.nextInstance().getData().toDoubleArray()
    return Stream(table[:, :-1].copy(), table[:, -1].astype(np.int64), nominal, int(header.numClasses()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=ROWS)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    for name, words in STREAMS.items():
        print(f"{name}: {words}", flush=True)
        generate(words, asked.rows).save(asked.folder / f"{name}.npz")


if __name__ == "__main__":
    main()

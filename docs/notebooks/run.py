"""Runs the notebooks and keeps what they print and draw: python docs/notebooks/run.py [NAME ...]

It needs nbclient and ipykernel. Outputs are kept small, and the site shows them as they are kept. tests/test_notebooks.py
runs the cells without Jupyter, and compares what they print.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

HERE = Path(__file__).parent
OURS = "<style>\n.onlineboost"  # where our part of an estimator's HTML begins, behind scikit-learn's diagram
KEPT = ("text/html", "image/png", "text/plain")


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook as it is after a run in an empty folder."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", []):
            if "data" in output:
                output.metadata, output.data = {}, {kind: output.data[kind] for kind in KEPT if kind in output.data}
                if "image/png" in output.data:
                    output.data["image/png"] = small(output.data["image/png"])
                if OURS in output.data.get("text/html", ""):
                    output.data["text/html"] = OURS + output.data["text/html"].rpartition(OURS)[2]
        if "outputs" in cell:  # notes about compiling go to stderr, and not into the page
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return notebook


def small(picture: str) -> str:
    """A PNG in base64 with 64 colours, a quarter of its size."""
    image, out = Image.open(io.BytesIO(base64.b64decode(picture))), io.BytesIO()
    image.convert("RGB").quantize(64).save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


if __name__ == "__main__":
    for path in sorted(HERE.glob("*.ipynb")):
        if path.stem in sys.argv[1:] or not sys.argv[1:]:
            nbformat.write(run(path), path)
            print(path.name)

"""The notebooks run, cell by cell and without Jupyter, and print what is kept in them, but for digits."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


def printed(cell):
    return "".join("".join(output["text"]) for output in cell["outputs"] if output.get("name") == "stdout")


def words(text):
    return re.sub(r"[\d.,]+", "0", text).split()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_is_kept_in_it(path, tmp_path, monkeypatch, capsys):
    plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    plt.switch_backend("Agg")
    namespace = {"__name__": "__main__"}
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    for cell in cells:
        capsys.readouterr()
        exec(compile("".join(cell["source"]), path.name, "exec"), namespace)
        assert words(capsys.readouterr().out) == words(printed(cell))
        last = ast.parse("".join(cell["source"])).body[-1]
        if isinstance(last, ast.Expr) and isinstance(last.value, ast.Name):  # shown at the end of the cell
            assert repr(namespace[last.value.id])
    kinds = {kind for cell in cells for output in cell["outputs"] for kind in output.get("data", {})}
    assert {"image/png", "text/html"} <= kinds
    assert not any(output["output_type"] == "error" for cell in cells for output in cell["outputs"])
    plt.close("all")


def test_there_are_four():
    assert len(NOTEBOOKS) == 4

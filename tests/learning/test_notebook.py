"""docs/notebooks/tour.ipynb runs from top to bottom."""

import os

import nbformat
import pytest
from nbclient import NotebookClient

from tests.conftest import ROOT

pytestmark = pytest.mark.learning


def test_the_tour_runs(tmp_path, monkeypatch):
    path = ROOT / "docs" / "notebooks" / "tour.ipynb"
    assert path.stat().st_size < 100_000
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    # It writes files where it runs, and finds the checkout above its folder.
    notebook.cells[1].source = notebook.cells[1].source.replace(
        "pathlib.Path.cwd()", f"pathlib.Path({str(path.parent)!r})"
    )
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    )
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=600, resources=resources).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    kinds = [kind for output in outputs for kind in output.get("data", ())]
    assert kinds.count("image/png") == 2
    assert kinds.count("text/html") == 1
    texts = "".join(output.get("text", "") for output in outputs)
    for text in ("steps a second", "new lakes are crossed", "advantages:"):
        assert text in texts

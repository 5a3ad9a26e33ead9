"""docs/notebooks/tour.ipynb runs from top to bottom."""

import nbformat
import pytest
from nbclient import NotebookClient

from tests.conftest import ROOT

pytestmark = pytest.mark.learning


def test_the_tour_runs(tmp_path, monkeypatch):
    path = ROOT / "docs" / "notebooks" / "tour.ipynb"
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
    # It finds the checkout above its folder, and writes files where it runs.
    setup, here = notebook.cells[1], f"pathlib.Path({str(path.parent)!r})"
    setup.source = setup.source.replace("pathlib.Path.cwd()", here)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=600, resources=resources).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    kinds = [kind for output in outputs for kind in output.get("data", ())]
    assert (kinds.count("image/png"), kinds.count("text/html")) == (2, 1)
    texts = "".join(output.get("text", "") for output in outputs)
    for text in ("steps a second", "new lakes are crossed", "advantages:"):
        assert text in texts

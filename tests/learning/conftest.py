"""Tests of the training examples: they need torch, and run by `make test-learning`."""

import importlib
import sys

import pytest

from tests.conftest import ROOT

EXAMPLES = ROOT / "docs" / "examples"


def pytest_ignore_collect(collection_path, config):
    # The README's command may run without torch, and shall not wait for its import.
    return True if "not learning" in config.getoption("markexpr") else None


@pytest.fixture
def example(monkeypatch):
    """Import a module of docs/examples as its programs do."""
    import torch

    before = set(sys.modules)
    threads = torch.get_num_threads()
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield importlib.import_module
    torch.set_num_threads(threads)
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    for name in names & set(sys.modules) - before:
        del sys.modules[name]

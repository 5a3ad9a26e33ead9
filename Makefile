.PHONY: help install format check test test-jit-off test-bounds test-slow test-pins \
    test-clients bench clean

PYTHON ?= python

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

install:  ## the package in place, with everything to work on it
	$(PYTHON) -m pip install -e ".[test,bench,lint]"

format:  ## rewrite the code in its one format
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

check:  ## lint, types, import layers
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	$(PYTHON) -c "from importlinter.cli import lint_imports_command as c; c()"

test:  ## the suite, compiled
	$(PYTHON) -m pytest

test-jit-off:  ## the kernels as plain Python, with coverage
	NUMBA_DISABLE_JIT=1 $(PYTHON) -m pytest tests/kernels tests/stacked tests/envs/sokoban \
	    tests/envs/frozen_lake tests/adapters \
	    --cov --cov-report=
	$(PYTHON) -m coverage report --include='kernels/*' --fail-under=95

test-bounds:  ## the kernels with every index checked
	NUMBA_BOUNDSCHECK=1 $(PYTHON) -m pytest tests/kernels tests/stacked tests/envs/sokoban \
	    tests/envs/frozen_lake tests/adapters

test-slow:  ## what the suite leaves out
	$(PYTHON) -m pytest -m slow

test-pins:  ## worlds and contract beside others' versions; PINS="lowest ragen": some
	$(PYTHON) -m tests.pins $(PINS)

bench:  ## the benchmarks, measured
	$(PYTHON) -m pytest benchmarks --benchmark-enable
	$(PYTHON) -m roll_vec.cli bench

clean:  ## caches and builds
	rm -rf build dist .pins .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache \
	    .import_linter_cache .benchmarks *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

test-clients:  ## the programs of docs/clients.md, each with its client; CLIENTS="skrl"
	$(PYTHON) -m tests.clients $(CLIENTS)

# Every target: none is the name of a file.
.PHONY: $(shell sed -nE 's/^([a-z-]+):.*\#\#.*/\1/p' $(MAKEFILE_LIST))

PYTHON ?= python
KERNEL_TESTS = tests/kernels tests/arrays tests/contract/test_rules.py \
    tests/contract/test_rule_mistakes.py \
    tests/contract/test_unroll.py::test_unroll_equals_as_many_steps \
    tests/vector/test_batch_options.py
GAME_TESTS = tests/envs --ignore=tests/envs/countdown --ignore=tests/envs/webshop
# Other tests run the same kernels; these take a third of the time.
NOT_AS_PYTHON = --ignore=tests/arrays/test_options.py \
    --ignore=tests/envs/test_attributes.py --ignore=tests/envs/test_keywords.py \
    --ignore=tests/envs/test_gymnasium_pictures.py --ignore=tests/envs/test_states.py \
    --ignore=tests/envs/test_advantages.py
# When and how kernels are compiled does not depend on the checks of indices.
NOT_WITH_BOUNDS = --ignore=tests/arrays/test_options.py \
    --ignore=tests/kernels/test_cache.py --ignore=tests/arrays/test_rule_code.py \
    --ignore=tests/contract/test_rule_mistakes.py
# Types and passes of numba: they do not run as plain Python.
COMPILED_ONLY = */_compiled_*.py,*/_lean_compiler.py

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

test:  ## the suite, compiled; TESTS="tests/pool -x": some
	$(PYTHON) -m pytest -n auto $(TESTS)

test-jit-off:  ## the kernels as plain Python, with coverage
	NUMBA_DISABLE_JIT=1 $(PYTHON) -m pytest -n auto $(KERNEL_TESTS) $(GAME_TESTS) \
	    $(NOT_AS_PYTHON) --cov=kernels --cov-report=
	$(PYTHON) -m coverage report --include='kernels/*' --omit='$(COMPILED_ONLY)' \
	    --fail-under=95

# As plain Python the rules of games have their indices checked by numpy.
test-bounds:  ## the compiled kernels of the engine with every index checked
	NUMBA_BOUNDSCHECK=1 $(PYTHON) -m pytest -n auto $(KERNEL_TESTS) $(NOT_WITH_BOUNDS)

test-slow:  ## what the suite leaves out, and longer searches by hypothesis
	HYPOTHESIS_PROFILE=large $(PYTHON) -m pytest -n auto \
	    -m "(slow or hypothesis) and not ray and not learning"

test-ray:  ## shards on Ray, with the extra ray; TESTS="-m 'ray and slow'": the long ones
	$(PYTHON) -m pytest tests/joined/ray -m "ray and not slow" $(TESTS)

test-browser:  ## pages of roll-vec watch, clicked in Debian's chromium, with the extra browser
	$(PYTHON) -m pytest tests/browser -m browser $(TESTS)

test-learning:  ## the examples that train, with the extra examples; TESTS="-m 'learning and slow'": long ones
	OMP_NUM_THREADS=1 $(PYTHON) -m pytest -n auto \
	    tests/learning -m "learning and not slow" $(TESTS)

test-pins:  ## worlds and contract beside others' versions; PINS="lowest roll": some
	$(PYTHON) -m tests.pins $(PINS)

test-wheels:  ## sdist and wheel, run outside the checkout, and all extras, resolved; PYTHONS="3.10 3.12": some
	$(PYTHON) -m tests.wheels $(PYTHONS)

test-adapters:  ## beside each framework; FRAMEWORKS="roll trl": some; CHECKOUTS=, KEEP=
	$(PYTHON) -m tests.frameworks $(FRAMEWORKS) \
	    $(if $(CHECKOUTS),--checkouts $(CHECKOUTS)) $(if $(KEEP),--keep $(KEEP))

test-exports:  ## the programs that read exports by datasets, TRL and Minari; KEEP=
	$(PYTHON) -m tests.frameworks datasets $(if $(KEEP),--keep $(KEEP))

test-mutants:  ## plant bugs one by one, to see that the tests catch them; a quarter of an hour
	$(PYTHON) -m tests.mutants $(MUTANTS)

release:  ## check what a machine can check of a release, and print the steps left
	$(PYTHON) -m tests.wheels.release

owner:  ## write the account that owns the repository into all addresses; OWNER=name
	$(PYTHON) -m tests.wheels.release --owner "$(OWNER)"

bench:  ## the benchmarks, measured, and their tables; BENCH="-k modes": some
	mkdir -p build
	$(PYTHON) -m pytest benchmarks --benchmark-only -rs \
	    --benchmark-columns=min,median,ops,rounds \
	    --benchmark-json=build/benchmarks.json $(BENCH)
	$(PYTHON) -m benchmarks.tables build/benchmarks.json

pages:  ## write the generated parts of README.md and docs/
	$(PYTHON) -m docs.build

docs: pages  ## the documentation as a site, in build/site, with the extra docs; strict
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true PYTHONPATH=. \
	    $(PYTHON) -m mkdocs build

clean:  ## caches and builds
	rm -rf build dist .pins .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache \
	    .import_linter_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

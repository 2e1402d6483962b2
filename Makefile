# Two commands: `make run` does the main job on a fresh machine, `make test` passes all tests on one.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TORCH ?= torch==2.13.0

.PHONY: run test coverage docs paper package matrix fresh release-check lock soak fuzz bench bench-quick bench-guard bench-docs clean

run: $(VENV)/installed
	$(BIN)/onlineboost run nursery
	@echo 'The command is $(BIN)/onlineboost. To have it on the PATH: source $(BIN)/activate'

test: $(VENV)/installed-dev $(VENV)/tried-ray
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto --dist worksteal

# How many lines quick tests reach with the compiler off, so that kernels count as all others; fails if they are fewer than
# fail_under in pyproject.toml. Tests that need machine code, or too long without it, are marked `compiled`.
COVERED := $(addprefix tests/test_,$(addsuffix .py,encoder labels table metrics files storage tally words registry folders \
	forecasts fastmath losses experts evaluate report theory dispatch synthetic cli errors_page)) \
	tests/contract/test_why.py tests/contract/test_contract.py::test_probabilities_are_probabilities \
	tests/test_docs.py::test_the_examples_of_a_module_are_true
coverage: $(VENV)/installed-dev
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n auto --dist worksteal -m 'not slow and not compiled' \
		--cov=onlineboost --cov-report=term:skip-covered $(COVERED)

# The documentation as a site, in the folder site; a warning is an error.
docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo 'Open site/index.html; with search: $(BIN)/python -m http.server --directory site, then http://localhost:8000'

# docs/paper-ours/paper.pdf, its figures and tables from stored results; typst and matplotlib come from PyPI.
paper: $(VENV)/installed-docs
	$(BIN)/python -m pip install -q --disable-pip-version-check 'typst>=0.13' 'matplotlib>=3.9'
	$(BIN)/python docs/paper-ours/make.py

# Wheel and sdist in the folder dist, checked, installed in an empty environment and run; and a wheel with machine code for
# this Python, its Numba and this system, with which nothing is compiled. Some minutes.
package: $(VENV)/installed-package
	rm -rf dist
	$(BIN)/python -m build -q
	ONLINEBOOST_MACHINE_CODE=1 $(BIN)/python -m build -q --wheel --no-isolation
	$(BIN)/python -m twine check --strict dist/*
	PYTHONPATH=tests $(BIN)/python -m fresh.package dist

# A quick part of the tests with the oldest and the newest Python, NumPy, Numba and scikit-learn, in new environments.
# Pythons that are not on the PATH are named: make matrix MATRIX='--python /path/to/python3.13'
matrix:
	$(PYTHON) tests/matrix.py $(MATRIX)

# All commands and blocks of the README, as they stand there, by a user who has nothing; five minutes.
fresh:
	$(PYTHON) tests/fresh/readme.py

# Before a release: pages, wheel and sdist, the README as a user, the oldest and the newest versions; twenty minutes.
release-check: docs package fresh matrix

# The exact versions to develop with, with hashes: pip install -r requirements-dev.lock, then pip install --no-deps -e .
lock: $(VENV)/installed-package
	$(BIN)/python -m uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--custom-compile-command 'make lock' --extra dev pyproject.toml -o requirements-dev.lock

# The slow tests; random operations on every estimator beside a clean replica, then once more with all indices checked, as
# is the contract suite; about an hour. Options: make soak SOAK='--operations 1000000 --seed 7'
CHECKED := NUMBA_BOUNDSCHECK=1 $(BIN)/python
soak: $(VENV)/installed-dev $(VENV)/tried-ray
	$(BIN)/python -m pytest -m slow
	$(BIN)/python tests/soak/run.py --operations 100000 $(SOAK)
	$(BIN)/python tests/soak/run.py --programs 10000 $(SOAK)
	$(BIN)/python tests/soak/guarantees.py --runs 10000
	$(CHECKED) tests/soak/run.py --operations 20000 $(SOAK)
	$(CHECKED) -m pytest tests/contract tests/test_estimators.py tests/test_evaluate.py tests/test_river.py

# 10,000 changed model files: a clean error or a good model, with all indices checked; five minutes.
fuzz: $(VENV)/installed-dev
	$(CHECKED) tests/mutations.py --number 10000 $(FUZZ)

# Ours beside other libraries, and how our cost grows; about 20 minutes. Options: make bench BENCH='--length 1000000'
bench: $(VENV)/installed-bench peers
	$(BIN)/python benchmarks/bench.py $(BENCH)

bench-quick: $(VENV)/installed-bench peers
	$(BIN)/python benchmarks/bench.py --quick --out results/quick $(BENCH)

# Fails if ours has become slower than benchmarks/stored.json says.
bench-guard: $(VENV)/installed
	$(BIN)/python benchmarks/guard.py

# benchmarks/results/speed.md and its pictures, from the last make bench.
bench-docs: $(VENV)/installed-bench
	$(BIN)/python benchmarks/bench.py --page benchmarks/results/speed.md

# What pip does is shown where somebody watches.
PIP := $(BIN)/python -m pip install --disable-pip-version-check $(if $(MAKE_TERMOUT),,-q)

$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "onlineboost needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	@echo 'Installing the package into $(VENV): about a minute ...'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) --no-compile -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	@echo 'Installing what the tests need into $(VENV): about a minute ...'
	@$(PIP) -e '.[dev]'
	@touch $@

# An extra that does not go everywhere: where it cannot be installed, its test says so and is skipped.
$(VENV)/tried-ray: $(VENV)/installed-dev
	@echo 'Installing Ray into $(VENV) ...'
	@$(PIP) -e '.[ray]' || echo 'Ray cannot be installed here: its test will be skipped.'
	@touch $@

$(VENV)/installed-docs: $(VENV)/installed
	@echo 'Installing what the pages need into $(VENV) ...'
	@$(PIP) -e '.[docs]'
	@touch $@

$(VENV)/installed-package: $(VENV)/installed
	@echo 'Installing what wheels need into $(VENV) ...'
	@$(PIP) build hatchling twine uv
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed
	@echo 'Installing what the benchmarks need into $(VENV) ...'
	@$(PIP) -e '.[river,report]'
	@touch $@

# Libraries to compare with, in environments of their own: CapyMOA needs Java, torch and an old pandas. All are optional:
# what cannot be installed is left out of the benchmark, and tried again the next time.
.PHONY: peers
peers:
	@$(MAKE) -s .bench/capymoa/installed || echo 'CapyMOA is left out: see above. It needs Java and the package capymoa.'
	@$(MAKE) -s .bench/vw/installed || echo 'Vowpal Wabbit is left out: see above.'

.bench/capymoa/installed:
	@java -version >/dev/null 2>&1 || { echo 'There is no java on the PATH.'; exit 1; }
	$(PYTHON) -m venv .bench/capymoa
	.bench/capymoa/bin/python -m pip install -q --disable-pip-version-check $(TORCH)
	.bench/capymoa/bin/python -m pip install -q --disable-pip-version-check 'capymoa>=0.15'
	touch $@

# For benchmarks/whole_streams.py. The authors' package of AMF asks for an old Numba, and so for an old Python.
OLD_PYTHON ?= python3.9
.bench/onelearn/installed:
	$(OLD_PYTHON) -m venv .bench/onelearn
	.bench/onelearn/bin/python -m pip install -q --disable-pip-version-check 'numba==0.56.4' 'numpy<1.24' scipy tqdm \
		colorcet bokeh matplotlib 'scikit-learn<1.7'
	.bench/onelearn/bin/python -m pip install -q --disable-pip-version-check --no-deps onelearn==0.3.0
	touch $@

.bench/batch/installed:
	$(PYTHON) -m venv .bench/batch
	.bench/batch/bin/python -m pip install -q --disable-pip-version-check lightgbm catboost scikit-learn
	touch $@

.bench/vw/installed:
	$(PYTHON) -m venv .bench/vw
	.bench/vw/bin/python -m pip install -q --disable-pip-version-check numpy vowpalwabbit
	touch $@

clean:
	rm -rf $(VENV) .bench site dist

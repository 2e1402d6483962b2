# Two commands: `make run` does the main job on a fresh machine, `make test` passes all tests on one.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: run test bench lint clean

run: $(VENV)/installed
	$(BIN)/onlineboost run nursery --learners 100

test: $(VENV)/installed-dev
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/python -m pytest

bench: $(VENV)/installed-bench
	$(BIN)/python benchmarks/speed.py

$(VENV)/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "onlineboost needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	touch $@

$(VENV)/installed-bench: $(VENV)/installed
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[river]'
	touch $@

clean:
	rm -rf $(VENV)

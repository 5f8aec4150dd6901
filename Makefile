# make demo    see it work: the pipeline of the README, in a store of its own
# make test    everything that has to hold before a change goes in
#
# Needs python3 (3.11 or newer, with venv and pip) and git. PYTHON=... names another interpreter.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# The directories of tests, from the cheapest tier to the dearest, so that what is wrong shows early.
# One that no tier names runs last: none is forgotten.
TIER_PURE       := tests/arch tests/core tests/conditions tests/config tests/store tests/host
TIER_SIMULATION := tests/simulation
TIER_PROCESSES  := tests/contract tests/engines tests/owners tests/service tests/api tests/cli tests/bench tests/e2e
TEST_FILES      := $(wildcard tests/*/test_*.py tests/*/*/test_*.py)
WITH_TESTS      := $(sort $(foreach file,$(TEST_FILES),tests/$(word 2,$(subst /, ,$(file)))))
TIER_REST       := $(filter-out $(TIER_PURE) $(TIER_SIMULATION) $(TIER_PROCESSES),$(WITH_TESTS)) \
                   $(wildcard tests/test_*.py)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test lint format diagram man docs screenshots tests bench soak clean
.PHONY: pure simulation processes rest simulate

help:
	@echo "make demo    see it work: the pipeline of the README, in a store of its own"
	@echo "make test    the linters, the types, the import rules and all tests"
	@echo "make lint    without the tests          make tests   without the linters"
	@echo "make pure | simulation | processes | rest            one tier of the tests"
	@echo "make simulate SEEDS=100000 START=1    so many random histories with crashes, beyond those of make tests"
	@echo "make format  let ruff lay the code out  make diagram draw the state machine in docs/"
	@echo "make man     write the manual pages in docs/man"
	@echo "make docs    build the documentation as a site, in build/site"
	@echo "make screenshots   draw the pictures in docs/img"
	@echo "make bench   what inturn costs, beside its neighbours and the machine itself; BENCH=--quick for less"
	@echo "make soak    an hour of steady work on a small disk, and whether anything grew; SOAK='--minutes 5' for less"
	@echo "make clean   remove what was built here"

# INTURN_DIR, if set, names the store; else the demonstration makes one. It is left to be looked at.
demo: $(VENV)/.stamp-run
	@$(BIN)/inturn demo
	@echo "(inturn is $(BIN)/inturn here)"

test: lint tests

lint: $(VENV)/.stamp-dev
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	$(BIN)/python -m mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/.stamp-dev
	$(BIN)/python -m ruff check --fix
	$(BIN)/python -m ruff format

diagram: $(VENV)/.stamp-run
	$(BIN)/python tools/state_diagram.py

man: $(VENV)/.stamp-run
	$(BIN)/python -m tools.man_pages

# Fails on a link that leads nowhere, and on a page that nothing leads to; not with --quiet, which hides warnings
# from --strict as well. The variable silences an advertisement.
docs: $(VENV)/.stamp-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "build/site/index.html"

screenshots: $(VENV)/.stamp-dev
	$(BIN)/python -m tools.screenshots

tests: pure simulation processes rest

# $(call pytest,DIRECTORIES,OPTIONS): those of them that hold a test. Making no test run is no success of
# pytest's, so a tier without any is passed over here.
pytest = $(if $(1),$(BIN)/python -m pytest $(2) $(PYTEST_ARGS) $(1))

# $(call crowd,DIRECTORIES,NUMBER): the same, so many tests at a time. What fails in the crowd is asked again alone:
# only what fails then as well is wrong, and both answers are printed. That is for tests that failed (1): where
# pytest was stopped or failed itself, others have not been run, and a second run of these would prove nothing.
crowd = $(if $(1),$(call pytest,$(1),-n $(2)) || \
        { [ $$? = 1 ] && $(call pytest,$(1),--last-failed --last-failed-no-failures none); })

pure: $(VENV)/.stamp-dev
	$(call crowd,$(filter $(TIER_PURE),$(WITH_TESTS)),2)

simulation: $(VENV)/.stamp-dev
	$(call pytest,$(filter $(TIER_SIMULATION),$(WITH_TESTS)))

# BENCH: scenarios and options, see docs/performance.md. The neighbours are measured if they are installed:
# make bench BENCH=--install
bench: $(VENV)/.stamp-run
	$(BIN)/python -m bench $(BENCH)

# Mounts a small disk if it may. SOAK: options, see docs/performance.md
soak: $(VENV)/.stamp-run
	$(BIN)/python -m bench.soak $(SOAK)

SEEDS ?= 10000
START ?= 1

simulate: $(VENV)/.stamp-dev
	$(BIN)/python -m tests.simulation --seeds $(SEEDS) --start $(START)

# These mostly wait for processes.
processes: $(VENV)/.stamp-dev
	$(call crowd,$(filter $(TIER_PROCESSES),$(WITH_TESTS)),4)

rest: $(VENV)/.stamp-dev
	$(call pytest,$(strip $(TIER_REST)))

clean:
	rm -rf $(VENV) .bench-venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment knows its place: in a copied tree its programs would still run the tree it was copied from.
# One that moved, or whose interpreter is gone, is made anew.
ifneq ($(wildcard $(VENV)),)
ifneq ($(shell $(BIN)/python -c '' 2>/dev/null && cat $(VENV)/.stamp-place),$(CURDIR))
$(shell rm -f $(VENV)/.stamp-*)
endif
endif

$(VENV)/.stamp-place:
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "inturn needs Python 3.11 or newer; there is no '$(PYTHON)' here." \
	       "Install it, or name another: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "inturn needs Python 3.11 or newer; '$(PYTHON)' is $$("$(PYTHON)" --version 2>&1)." \
	       "Name another: make PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' has no venv or no pip (on Debian: apt install python3-venv)." >&2; exit 1; }
	"$(PYTHON)" -m venv --clear $(VENV)
	@printf %s "$(CURDIR)" > $@

# The program that an older pip writes for a command imports `re` first: a sixth of what a submission costs.
$(VENV)/.stamp-pip: $(VENV)/.stamp-place
	$(PIP) install --upgrade pip
	@touch $@

# Installed in place: what is edited is what runs. pip compiles what it installs, the last line the rest: an
# interpreter that has to compile first starts ten times slower.
$(VENV)/.stamp-run: pyproject.toml $(VENV)/.stamp-place $(VENV)/.stamp-pip
	$(PIP) install --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.stamp-dev: pyproject.toml $(VENV)/.stamp-place $(VENV)/.stamp-pip
	$(PIP) install --editable '.[dev]'
	@$(BIN)/python -m compileall -q src
	@touch $(VENV)/.stamp-run $@

$(VENV)/.stamp-docs: pyproject.toml $(VENV)/.stamp-run
	$(PIP) install --editable '.[docs]'
	@touch $@

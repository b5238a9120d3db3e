# make run        build the fixture shop (or SOURCE=<mapping file>) into WORKSPACE and show it
# make test       what CI runs: checks, unit and integration tests, notebooks
# make test-full  everything at full size; run before an issue is closed
# make check      lint, format, types, layers, Dagster definitions
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCE ?= fixtures/sources/fixture_shop.toml
WORKSPACE ?= workspace
PYTEST := $(BIN)/python -m pytest
STAMP := $(VENV)/.installed

.PHONY: run install check test test-full notebooks clean

run: $(STAMP)
	@$(BIN)/lifehelper init $(WORKSPACE) --source $(SOURCE)
	@$(BIN)/lifehelper build --workspace $(WORKSPACE) --source $(SOURCE)

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV); the first time takes a few minutes"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/nbstripout --verify notebooks/*.ipynb
	LIFEHELPER_WORKSPACE=$(WORKSPACE) DAGSTER_DISABLE_TELEMETRY=1 \
	  $(BIN)/dagster definitions validate -m dagster_project.definitions --log-level warning

test: check notebooks
	$(PYTEST) -m "not full"

test-full: check notebooks
	LIFEHELPER_TEST_TIER=full $(PYTEST)

# Notebooks run on a release of the dirty fixture shop, built for them.
notebooks: $(STAMP)
	@rm -rf .notebook-workspace
	@$(BIN)/lifehelper init .notebook-workspace --source fixtures/sources/fixture_shop_dirty.toml
	@LIFEHELPER__RUN__SEARCH_ASSETS=false \
	  $(BIN)/lifehelper build --workspace .notebook-workspace --json > /dev/null
	LIFEHELPER_WORKSPACE=$(CURDIR)/.notebook-workspace $(PYTEST) --nbmake notebooks
	@rm -rf .notebook-workspace

clean:
	rm -rf $(VENV) workspace .notebook-workspace .mypy_cache .ruff_cache .pytest_cache .hypothesis

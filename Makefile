# `make help` lists the targets: each says after two hashes what it does.
.DEFAULT_GOAL := help
.PHONY: help setup run test lint types docs scenarios test-local test-browser test-mcp bench campaign training build ci ci-full

PYTHON ?= python3
BIN := .venv/bin
export PYTHON

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Make .venv with everything development needs
	@sh scripts/setup.sh

run: setup ## Run the main job: replay the shipped recording of the underspecified split
	@$(BIN)/talm-sim run --split underspecified

test: ## Run the tests (make test ARGS='tests/cli -x')
	@sh scripts/test.sh $(ARGS)

lint: setup ## Check the style
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports --no-cache

types: setup ## Check the types
	@$(BIN)/mypy

docs: setup ## Build the documentation's site into build/docs and check its links
	@sh scripts/docs.sh
	@TALM_SIM_SITE=build/docs $(BIN)/python -m pytest --quiet tests/site

scenarios: setup ## Build the packaged scenarios from their seeds and prove every one
	@$(BIN)/python scripts/build_scenarios.py

test-local: ## Run the real-model tests (after scripts/local_vllm.sh, `talm-sim models get` and, for some, scripts/serve_smollm2.sh)
	@VLLM_BASE_URL=$${VLLM_BASE_URL-http://127.0.0.1:8011/v1} TALM_SIM_TEST_MODEL=$${TALM_SIM_TEST_MODEL:-$(CURDIR)/.local/smollm2-135m} \
		.venv-vllm/bin/python -m pytest --quiet -m local --timeout=900

test-browser: ## Look at the report page in a real browser (the browser comes with scripts/browser.sh)
	@scripts/browser.sh && .venv-extras/bin/python -m pytest --quiet -m browser tests/browser

test-mcp: ## Test tools of MCP servers, one of PyPI among them (they come with scripts/mcp.sh)
	@scripts/mcp.sh && .venv-extras/bin/python -m pytest --quiet tests/tools_env/sources tests/tools_env/test_health.py tests/cli/test_try.py

bench: setup ## Measure what the machinery costs an episode
	@$(BIN)/python benchmarks/overhead.py
	@$(BIN)/python benchmarks/comparison.py

campaign: ## Attack the program: kills, damage, hostile servers, secrets (make campaign ARGS='kills --short')
	@sh scripts/campaign.sh $(ARGS)

training: ## Repeat the experiment of docs/training.md, hours on two cores (make training ARGS=--quick)
	@sh scripts/training.sh $(ARGS)

build: setup ## Build the wheel into dist/
	@$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

ci: ## Run all that a change must pass, the slow tiers in their short forms (about half an hour)
	@.ci/run

ci-full: ## The same with the slow tiers whole (about an hour and a half)
	@.ci/run --full

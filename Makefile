# `make demo` and `make test` do all the set-up themselves: they need Python 3.11 or later, make and
# git, and nothing else. What they install stays inside this directory.

BIN := .venv/bin
SYNCED := .venv/.synced

.PHONY: help setup demo check test kernels jars lakes search bench docs lint format clean chaos soak
.DEFAULT_GOAL := help

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' Makefile | while IFS='	' read -r name text; do \
		printf '  make %-8s %s\n' "$$name" "$$text"; done

setup: $(SYNCED) ## make .venv with the locked dependencies (PYTHON=... picks the Python)

demo: $(SYNCED) ## count real departures that were reported out of order, early and refined
	@$(BIN)/latecomer demo

check: lint ## lint, types and all tests that need no Spark: what to run before each commit
	$(BIN)/pytest -q -n 2 --dist worksteal -m "not spark and not jvm" --hypothesis-profile=quick $(ARGS)

test: $(SYNCED) ## all checks, kernels as plain Python, all tests (ARGS=... goes to pytest)
	@# Lint and kernels use one core each, and the jars wait for the network.
	@$(MAKE) --no-print-directory -j 3 --output-sync=target lint kernels jars
	@# A query of Spark often waits, for a process to start or for a file. The tests of lakes run in one
	@# process beside the others and use that time; what they print is shown at the end.
	@# loadgroup hands out tests one by one, the longest first: see tests/conftest.py.
	@mkdir -p build
	@# Not the variable MAKE: with it, `make -n` would run this line.
	@make --no-print-directory lakes PROCESSES=1 LAKES=$(LAKES) >build/lakes.txt 2>&1 & lakes=$$!; \
	$(BIN)/pytest -n 2 --dist loadgroup $(ARGS); tests=$$?; \
	echo "waiting for the tests of lakes"; wait $$lakes; told=$$?; cat build/lakes.txt; \
	exit $$((tests ? tests : told))

kernels: $(SYNCED)
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q tests/kernels --cov=src/latecomer/kernels --cov-fail-under=100

# The target lakes says what is missing; here it only saves time.
jars: $(SYNCED)
	@scripts/lakes/setup >/dev/null 2>&1 || true

lakes: $(SYNCED) ## Kafka, Delta, Iceberg and a query of each kind on the oldest Spark (LAKES=demanded)
	@if scripts/lakes/setup; then \
		.venv-lakes/bin/pytest -q -n $(or $(PROCESSES),2) --dist loadgroup -m "lakes or smoke" \
			$$(.venv-lakes/bin/python -m tests.support.smoke); \
	elif [ "$(LAKES)" = demanded ]; then \
		exit 1; \
	else \
		echo "SKIPPED: tests of Kafka, Delta and Iceberg, and of the oldest Spark: see above"; \
	fi

search: $(SYNCED) ## random queries against brute force for SECONDS=... (ARGS="--seed 9000 --kind sorts")
	$(BIN)/python -m tests.search --seconds $(or $(SECONDS),60) $(ARGS)

chaos: $(SYNCED) ## crashes, torn writes, two drivers, kills (ARGS="--seed 7" repeats one schedule)
	$(BIN)/python -m tests.chaos $(ARGS)
ifeq ($(strip $(ARGS)),)
	@if scripts/lakes/setup; then \
		.venv-lakes/bin/python -m tests.lakes.kills --kills 20; \
	else \
		echo "SKIPPED: kills of queries that write to Delta and Iceberg: see above"; \
	fi
endif

soak: $(SYNCED) ## an hour at full rate, with outages and restarts (ARGS="--minutes 15")
	$(BIN)/python -m tests.chaos.soak $(ARGS)

bench: $(SYNCED) ## run the benchmarks, write docs/benchmarks.md (ARGS="--quick", "sort waits")
	@scripts/setup --group match
	@$(BIN)/latecomer bench $(ARGS)

docs: $(SYNCED) ## build the site into build/site; warnings and broken links are errors
	@scripts/setup --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict $(ARGS)

lint: $(SYNCED) ## style, formatting, types, import contracts, the map, operators and test modules
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_map.py
	$(BIN)/python scripts/check_operators.py
	$(BIN)/python scripts/check_tests.py

format: $(SYNCED) ## put the code into house format
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

clean: ## remove everything that was installed, built or cached
	rm -rf .venv .venv-lakes .jars .bootstrap .peers build dist .coverage* .hypothesis .*_cache spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(SYNCED): pyproject.toml uv.lock scripts/setup scripts/bootstrap_uv.py
	@scripts/setup
	@touch $@

# Commands for developers and users. Fetched files and build results are in the cache directory,
# outside the checkout, so a fresh clone does not build everything again.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

export MEMORY_COPILOT_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/memory-copilot
export CARGO_TARGET_DIR ?= $(MEMORY_COPILOT_CACHE)/target
export PATH := $(MEMORY_COPILOT_CACHE)/tools/bin:$(PATH)

NEXTEST := 0.9.151
DENY := 0.20.2
BINARY := $(CARGO_TARGET_DIR)/release/memory-copilot
# For a trial of the service from a checkout: built in minutes, hardly optimized.
QUICK_BINARY := $(CARGO_TARGET_DIR)/quick/memory-copilot

# Tests often wait for a server of their own, so two for each processor keep it busy.
export NEXTEST_TEST_THREADS := $(or $(NEXTEST_TEST_THREADS),$(shell echo $$((2 * $$(nproc)))))

# SQL is checked against the committed .sqlx, even if the shell has a DATABASE_URL.
OFFLINE := env -u DATABASE_URL SQLX_OFFLINE=true

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "  cache directory: $(MEMORY_COPILOT_CACHE) (set MEMORY_COPILOT_CACHE for another)"

.PHONY: setup
setup: ## Fetch PostgreSQL, ONNX runtime and the embedding model into the cache
	@scripts/setup

.PHONY: build
build: ## Build the release binary
	@$(OFFLINE) cargo build --release --locked --package mc-app
	@echo "build: $(BINARY)"

.PHONY: build-quick
build-quick:
	@$(OFFLINE) cargo build --profile quick --no-default-features --locked --package mc-app

# A release needs the check of security advisories, which `make lint` leaves out without network.
.PHONY: release
release: export ADVISORIES := required
# A release also fails if the test that needs a mount in a namespace is skipped.
release: export MC_TEST_MOUNTS := required
# A release also fails if the test that needs Landlock is skipped.
release: export MC_TEST_LANDLOCK := required
# A release also fails if tests that need root are skipped.
release: export MC_TEST_ROOT := required
release: lint test build ## Run every check and build the release binary
	@echo "release: $(BINARY)"

PREFIX ?= $(HOME)/.local
.PHONY: install
install: setup build ## Install the program into PREFIX/bin (PREFIX=~/.local)
	@install -D $(BINARY) $(PREFIX)/bin/memory-copilot
	@echo "install: $(PREFIX)/bin/memory-copilot"

.PHONY: run
run: setup build-quick ## Start the service (Ctrl-C stops it)
	@exec $(QUICK_BINARY) serve $(ARGS)

.PHONY: demo
demo: setup build-quick ## Index a repository, save, recall and search (REPO=<path or git URL>)
	@scripts/demo $(QUICK_BINARY) $(REPO)

# What tests need besides `make setup`.
.PHONY: test-setup
test-setup: setup
	@scripts/setup mcp-client mcp-client-typescript oidc-provider vendors clients webhook-examples redis bundle-source
	@scripts/cargo-tool cargo-nextest $(NEXTEST) --no-default-features --features default-no-update

.PHONY: test
test: test-setup ## Run every test (ARGS are passed to nextest only)
	@$(OFFLINE) scripts/with-postgres cargo nextest run --locked --workspace $(ARGS)
	@$(OFFLINE) scripts/with-postgres cargo test --quiet --locked --workspace --doc
	@$(MAKE) --no-print-directory ARGS= conformance rls fuzz-smoke bench-tiny

.PHONY: trim
trim: ## Delete build results if the disk has little room left
	@scripts/trim $(CARGO_TARGET_DIR)

.PHONY: attack
attack: test-setup build ## Run every attack: the tests that SECURITY.md names, hostile texts, and floods of the release binary (ARGS='--seconds 10')
	@$(OFFLINE) cargo build --release --locked --package mc-bench
	@$(OFFLINE) scripts/attack $(CARGO_TARGET_DIR)/release $(ARGS)

.PHONY: isolation
# The attempts fail if they take more than an hour (ISOLATION_SECONDS).
isolation: setup ## Attack project isolation with random requests and database mutants (ISOLATION_ATTEMPTS, ISOLATION_SEED)
	@ISOLATION_ATTEMPTS=$(or $(ISOLATION_ATTEMPTS),200000) \
	ISOLATION_SECONDS=$(or $(ISOLATION_SECONDS),3600) ISOLATION_MUTANTS_EVERY=1 \
	$(OFFLINE) scripts/with-postgres \
	    cargo test --locked --workspace --test isolation -- --nocapture --test-threads 1

.PHONY: isolation-mutants
isolation-mutants: setup ## Run the isolation tests against mutants of the code (ARGS: names, or --check)
	@$(OFFLINE) scripts/isolation-mutants $(ARGS)

# Builds the whole workspace with the example, as the tests do, so cargo reuses their artifacts.
BUILD_FOR_TESTS := $(OFFLINE) cargo build --locked --workspace --example conformance --bin memory-copilot

.PHONY: conformance
conformance: setup ## Run the official MCP conformance suite against /mcp
	@scripts/setup conformance
	@$(BUILD_FOR_TESTS)
	@scripts/conformance $(CARGO_TARGET_DIR)/debug

.PHONY: rls
rls: ## Test the row-level security policies with rlsautotest
	@scripts/setup postgresql rlsautotest
	@scripts/with-postgres scripts/rls

FUZZ_SECONDS ?= 600
.PHONY: fuzz
fuzz: setup ## Send valid and invalid requests generated from the OpenAPI document (FUZZ_SECONDS=600, FUZZ_SEED, ARGS)
	@scripts/setup schemathesis
	@$(BUILD_FOR_TESTS)
	@scripts/fuzz $(CARGO_TARGET_DIR)/debug/memory-copilot $(FUZZ_SECONDS) $(ARGS)

.PHONY: fuzz-smoke
fuzz-smoke: setup ## Run fuzz for less than a minute, with the same requests each time
	@scripts/setup schemathesis
	@$(BUILD_FOR_TESTS)
	@scripts/fuzz $(CARGO_TARGET_DIR)/debug/memory-copilot

.PHONY: bench-tiny
bench-tiny: setup ## Check that every benchmark works, each at its smallest (ARGS: names)
	@$(BUILD_FOR_TESTS) --bin mc-bench
	@scripts/bench-tiny $(CARGO_TARGET_DIR)/debug $(ARGS)

BENCH ?= vectors recall writes ingest queue webhooks
.PHONY: bench
bench: setup build ## Measure the service (QUICK=1: some minutes; BENCH=recall: one benchmark; ARGS)
	@$(OFFLINE) cargo build --release --locked --package mc-bench
	@for benchmark in $(BENCH); do \
		MEMORY_COPILOT_BINARY=$(BINARY) \
		$(CARGO_TARGET_DIR)/release/mc-bench $$benchmark $(if $(QUICK),--quick) $(ARGS); \
	done

# The first run takes hours, since it computes the vectors.
.PHONY: bench-large
bench-large: setup build ## Measure recall among a million records, and in one project of 500,000 (QUICK=1, ARGS)
	@$(OFFLINE) cargo build --release --locked --package mc-bench
	@for size in '1000000 500' '500000 1'; do \
		read -r memories projects <<< "$$size"; \
		MEMORY_COPILOT_BINARY=$(BINARY) $(CARGO_TARGET_DIR)/release/mc-bench recall \
		    --memories $$memories --projects $$projects --out bench-results/$$memories-$$projects \
		    $(if $(QUICK),--quick) $(ARGS); \
	done

GATE_COMMIT ?= HEAD
GATE_BASELINE ?= $(GATE_COMMIT)^
.PHONY: bench-gate
bench-gate: setup ## Fail if HEAD is slower than the commit before it (GATE_COMMIT, GATE_BASELINE, ARGS='--rounds 15')
	@$(OFFLINE) cargo build --release --locked --package mc-bench
	@scripts/bench-gate $(CARGO_TARGET_DIR)/release/mc-bench '$(GATE_COMMIT)' '$(GATE_BASELINE)' -- $(ARGS)

.PHONY: lint
# The dependencies come last, so that a warning about advisories ends the output.
lint: ## Check format, clippy, licenses and advisories
	@cargo fmt --all --check
	@$(OFFLINE) cargo clippy --locked --workspace --all-targets -- --deny warnings
	@$(MAKE) --no-print-directory deny

.PHONY: deny
deny: ## Check the dependencies' licenses, sources and advisories (ADVISORIES=required: fail if unchecked)
	@scripts/cargo-tool cargo-deny $(DENY)
	@scripts/deny

.PHONY: fmt
fmt: ## Format the code
	@cargo fmt --all

.PHONY: sqlx
sqlx: ## Regenerate .sqlx after a change to a query or a migration
	@scripts/setup postgresql
	@scripts/sqlx-prepare

# ONLY: systems to measure, by their names in benches/README.md, with commas; empty: all.
# RUNS: runs of each system. OUT: directory for the results. BESIDE: other builds of this service.
ONLY ?=
RUNS ?= 3
OUT ?= bench-results
.PHONY: bench-peers
bench-peers: setup build ## Compare with other memory services (ONLY=ours,mem0 RUNS=3 OUT=bench-results BESIDE=a7c8de4=./binary)
	@$(OFFLINE) cargo build --release --locked --package mc-bench
	@BENCH_COMMAND='make bench-peers ONLY=$(ONLY) RUNS=$(RUNS)' benches/peers/run \
	    --binary $(BINARY) --endpoint $(CARGO_TARGET_DIR)/release/mc-bench \
	    --only '$(ONLY)' --runs $(RUNS) --out $(OUT) $(addprefix --beside ,$(BESIDE))

.PHONY: clean-cache
# For root, PostgreSQL and the peers' packages may be elsewhere; the cache then has links to them.
clean-cache: ## Delete the cache directory, with all build results
	rm -rf -- "$$(readlink -f "$(MEMORY_COPILOT_CACHE)/postgresql")" \
	    "$$(readlink -f "$(MEMORY_COPILOT_CACHE)/peers")" "$(MEMORY_COPILOT_CACHE)"

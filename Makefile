# The commands that people type. Everything fetched or built lives in the cache folder, outside the
# checkout, so that a fresh clone does not build the world again.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

export MEMORY_COPILOT_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/memory-copilot
export CARGO_TARGET_DIR ?= $(MEMORY_COPILOT_CACHE)/target
export PATH := $(MEMORY_COPILOT_CACHE)/tools/bin:$(PATH)

NEXTEST := 0.9.151
DENY := 0.20.2
BINARY := $(CARGO_TARGET_DIR)/release/memory-copilot
# Built without link-time optimization, for people who try the service from a checkout.
QUICK_BINARY := $(CARGO_TARGET_DIR)/quick/memory-copilot

# SQL is checked against the committed .sqlx; a DATABASE_URL of the shell must not interfere.
OFFLINE := env -u DATABASE_URL SQLX_OFFLINE=true

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "  cache folder: $(MEMORY_COPILOT_CACHE) (choose another with MEMORY_COPILOT_CACHE)"

.PHONY: setup
setup: ## Fetch PostgreSQL, ONNX runtime and the embedding model into the cache
	@scripts/setup

.PHONY: build
build: ## Build the release binary
	@$(OFFLINE) cargo build --release --locked --package mc-app
	@echo "build: $(BINARY)"

.PHONY: build-quick
build-quick:
	@$(OFFLINE) cargo build --profile quick --locked --package mc-app

PREFIX ?= $(HOME)/.local
.PHONY: install
install: setup build ## Put the program into PREFIX/bin (PREFIX is ~/.local)
	@install -D $(BINARY) $(PREFIX)/bin/memory-copilot
	@echo "install: $(PREFIX)/bin/memory-copilot"

.PHONY: run
run: setup build-quick ## Start the service (Ctrl-C stops it)
	@exec $(QUICK_BINARY) serve $(ARGS)

.PHONY: demo
demo: setup build-quick ## Index a repository, save, recall and search (REPO=<path or git URL>)
	@scripts/demo $(QUICK_BINARY) $(REPO)

.PHONY: test
test: setup ## Run every test (ARGS are passed to nextest)
	@scripts/setup mcp-client mcp-client-typescript oidc-provider vendors webhook-examples redis bundle-source
	@scripts/cargo-tool cargo-nextest $(NEXTEST) --no-default-features --features default-no-update
	@$(OFFLINE) scripts/with-postgres cargo nextest run --locked --workspace $(ARGS)
	@$(OFFLINE) scripts/with-postgres cargo test --quiet --locked --workspace --doc
	@$(MAKE) --no-print-directory conformance rls fuzz-smoke bench-tiny

.PHONY: isolation
# Each has its end: the attempts after an hour (ISOLATION_SECONDS), which fails.
isolation: setup ## Guess at every endpoint and tool (ISOLATION_ATTEMPTS, ISOLATION_SEED), and try every mutant of the database
	@ISOLATION_ATTEMPTS=$(or $(ISOLATION_ATTEMPTS),200000) \
	ISOLATION_SECONDS=$(or $(ISOLATION_SECONDS),3600) ISOLATION_MUTANTS_EVERY=1 \
	$(OFFLINE) scripts/with-postgres \
	    cargo test --locked --workspace --test isolation -- --nocapture --test-threads 1

.PHONY: isolation-mutants
isolation-mutants: setup ## Run the isolation tests against mutants of the code (ARGS: names, or --check)
	@$(OFFLINE) scripts/isolation-mutants $(ARGS)

# Of the whole workspace and with an example, so that what the tests have built is used as it is.
BUILD_FOR_TESTS := $(OFFLINE) cargo build --locked --workspace --example conformance --bin memory-copilot

.PHONY: conformance
conformance: setup ## Run the official MCP conformance suite against /mcp
	@scripts/setup conformance
	@$(BUILD_FOR_TESTS)
	@scripts/conformance $(CARGO_TARGET_DIR)/debug

.PHONY: rls
rls: ## Test the database's policies with rlsautotest
	@scripts/setup postgresql rlsautotest
	@scripts/with-postgres scripts/rls

FUZZ_SECONDS ?= 600
.PHONY: fuzz
fuzz: setup ## Ask the API whatever its OpenAPI allows and forbids (FUZZ_SECONDS=600 FUZZ_SEED ARGS)
	@scripts/setup schemathesis
	@$(BUILD_FOR_TESTS)
	@scripts/fuzz $(CARGO_TARGET_DIR)/debug/memory-copilot $(FUZZ_SECONDS) $(ARGS)

.PHONY: fuzz-smoke
fuzz-smoke: setup ## The same for less than a minute, and always the same requests
	@scripts/setup schemathesis
	@$(BUILD_FOR_TESTS)
	@scripts/fuzz $(CARGO_TARGET_DIR)/debug/memory-copilot

.PHONY: bench-tiny
bench-tiny: setup ## Run every benchmark as small as it gets, to see that it works (ARGS: names)
	@$(BUILD_FOR_TESTS) --bin mc-bench
	@scripts/bench-tiny $(CARGO_TARGET_DIR)/debug $(ARGS)

BENCH ?= vectors recall writes ingest queue webhooks
.PHONY: bench
bench: setup build ## Measure the service (QUICK=1: some minutes; BENCH=recall: one of them; ARGS)
	@$(OFFLINE) cargo build --release --locked --package mc-bench
	@for benchmark in $(BENCH); do \
		MEMORY_COPILOT_BINARY=$(BINARY) \
		$(CARGO_TARGET_DIR)/release/mc-bench $$benchmark $(if $(QUICK),--quick) $(ARGS); \
	done

# A million memories, and a project of half a million passages: hours for the vectors, once.
.PHONY: bench-large
bench-large: setup build ## Measure recall among a million memories, and one project of 500,000 passages (QUICK ARGS)
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
bench-gate: setup ## Fail where HEAD is slower than the commit before (GATE_COMMIT GATE_BASELINE ARGS='--rounds 15')
	@$(OFFLINE) cargo build --release --locked --package mc-bench
	@scripts/bench-gate $(CARGO_TARGET_DIR)/release/mc-bench '$(GATE_COMMIT)' '$(GATE_BASELINE)' -- $(ARGS)

.PHONY: lint
lint: deny ## Check format, clippy, licences and advisories
	@cargo fmt --all --check
	@$(OFFLINE) cargo clippy --locked --workspace --all-targets -- --deny warnings

.PHONY: deny
deny: ## Check the dependencies' licences, sources and advisories
	@scripts/cargo-tool cargo-deny $(DENY)
	@scripts/deny

.PHONY: fmt
fmt: ## Format the code
	@cargo fmt --all

.PHONY: sqlx
sqlx: ## Regenerate .sqlx after a change of a query or a migration
	@scripts/setup postgresql
	@scripts/sqlx-prepare

# Systems to measure (names as in benches/README.md, by commas; all when empty), runs of each, and
# the folder for the results.
ONLY ?=
RUNS ?= 3
OUT ?= bench-results
.PHONY: bench-peers
bench-peers: setup build ## Measure beside other memory services (ONLY=ours,mem0 RUNS=3 OUT=bench-results BESIDE=a7c8de4=./binary)
	@$(OFFLINE) cargo build --release --locked --package mc-bench
	@BENCH_COMMAND='make bench-peers ONLY=$(ONLY) RUNS=$(RUNS)' benches/peers/run \
	    --binary $(BINARY) --endpoint $(CARGO_TARGET_DIR)/release/mc-bench \
	    --only '$(ONLY)' --runs $(RUNS) --out $(OUT) $(addprefix --beside ,$(BESIDE))

.PHONY: clean-cache
# As root PostgreSQL and the peers' packages may live elsewhere, with links to them in the cache.
clean-cache: ## Delete the cache folder, build results included
	rm -rf -- "$$(readlink -f "$(MEMORY_COPILOT_CACHE)/postgresql")" \
	    "$$(readlink -f "$(MEMORY_COPILOT_CACHE)/peers")" "$(MEMORY_COPILOT_CACHE)"

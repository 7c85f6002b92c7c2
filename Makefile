# Each target does its own set-up. What they do is in scripts/, which can be called alone too.

.DEFAULT_GOAL := help
.PHONY: help run test lint audit sbom fmt bench bench-growth guard chaos fuzz screenshots setup

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

run: ## Build and start Groma in ./data, filled with a demonstration office when new
	@scripts/setup build
	cargo run --profile quick --locked -p groma -- serve --demo

test: ## Run every test, on SQLite and on a PostgreSQL of its own
	@scripts/test

lint: ## Check format, lints and scripts
	@scripts/lint

audit: ## Check licences, sources, bans and known holes of every crate (cargo-deny)
	@scripts/audit

sbom: ## Write the bill of materials of the program to target/sbom (CycloneDX)
	@scripts/sbom

fmt: ## Format the code
	@scripts/setup build lint
	cargo fmt --all

bench: ## Measure beside peers and limits, and write bench/RESULTS.md (BENCH=tiles for one part, BENCH_QUICK=1 for a look)
	@scripts/bench

bench-growth: ## Measure how costs grow up to ten million records and features (half an hour, 36 GB)
	@scripts/setup build
	cargo run --release --locked -p bench -- growth

guard: ## Count the instructions of the hot paths and compare them with guard/counts.json
	@scripts/guard

chaos: ## Break things around the program and write docs/reliability.md
	@scripts/chaos

fuzz: ## Send what nobody would write, FUZZ_SECONDS (120) for each kind of it
	@scripts/setup build
	FUZZ_SECONDS=$${FUZZ_SECONDS:-120} cargo test --locked -p groma --test it -- fuzz:: --test-threads 2

screenshots: ## Take the pictures of docs/images, of the demonstration office
	@scripts/e2e screenshots

# Everything of the system that any target needs, at once: for images and first days.
setup:
	@scripts/setup build lint postgres python node browser bench guard chaos

# Each target installs what it needs (scripts/setup). The scripts can also be run directly.

.DEFAULT_GOAL := help
.PHONY: help run test lint audit sbom fmt bench bench-growth instruction-counts chaos fuzz qgis screenshots setup

help: ## List all targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 28

run: ## Build and start Groma in ./data, with demo data if the database is empty
	@scripts/setup build
	cargo run --profile quick --locked -p groma -- serve --demo

test: ## Run all tests, on SQLite and on a temporary PostgreSQL
	@scripts/test

lint: ## Check formatting, lints, scripts and dependencies
	@scripts/lint

audit: ## Check licenses, sources and bans of all crates, and known vulnerabilities of crates and npm packages
	@scripts/audit

sbom: ## Write a CycloneDX bill of materials to target/sbom
	@scripts/sbom

fmt: ## Format the code
	@scripts/setup build lint
	cargo fmt --all

bench: ## Run the benchmarks and write bench/RESULTS.md (BENCH=tiles: one part, BENCH_QUICK=1: short test run)
	@scripts/bench

bench-growth: ## Measure how cost grows up to ten million records and features (half an hour, 36 GB)
	@scripts/setup build
	cargo run --release --locked -p bench -- growth

instruction-counts: ## Count the CPU instructions of the hot paths and compare them with the recorded values
	@scripts/instruction-counts

chaos: ## Run the fault-injection tests and write docs/reliability.md
	@scripts/chaos

fuzz: ## Run each fuzz target for FUZZ_SECONDS seconds (default 120)
	@scripts/setup build
	FUZZ_SECONDS=$${FUZZ_SECONDS:-120} cargo test --locked -p groma --test it -- fuzz:: --test-threads 2

qgis: ## Test maps, reading and editing with QGIS (root on Debian; installs it in target/qgis, 4 GB)
	@scripts/qgis

screenshots: ## Take the screenshots in docs/images
	@scripts/e2e screenshots

# Installs the system packages for all targets, for example for a CI image.
setup:
	@scripts/setup build lint postgres python node browser gdal bench instruction-counts chaos

# `make help` lists the tasks of a checkout, `make tasks` the parts of these. CI runs `make test` and
# `make ship`.

CARGO ?= cargo
# Incremental builds take longer from nothing: they write files for a next build.
export CARGO_INCREMENTAL ?= 0
# As Cargo.toml has it for the workspace; here for those beside it.
export CARGO_PROFILE_DEV_DEBUG ?= false
# The whole workspace, also for some of its tests: with another choice of crates, Cargo chooses other
# features and builds again.
TEST = $(CARGO) test --workspace --all-features --locked
# Clippy compiles the workspace in place of rustc, in a slower build of its own.
# CLIPPY_ARGS has the form in which `cargo clippy` passes its own arguments.
LINTED = RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__

.DEFAULT_GOAL := help

## This list.
help:
	@$(LIST) Makefile
	@echo "make tasks lists the parts of test, ship, full and bench."

## Every task, by group.
tasks:
	@for group in test ship full bench; do \
		echo "$$group:"; $(LIST) tasks/$$group.mk; done

LIST = awk '/^\#\# / { text = substr($$0, 4); next } \
	/^[a-z0-9-]+:/ && text != "" { split($$1, name, ":"); printf "  %-14s %s\n", name[1], text } { text = "" }'

REPORT ?= target/compare.html
# Without gRPC, TLS and Thrift, which comparing carriers does not need.
## Build, then compare every carrier at every size, in µs and in floors: a minute after the build.
demo:
	@mkdir -p $(dir $(REPORT))
	$(CARGO) build --profile demo --locked -p breezeway-cli --no-default-features
	$(CARGO) run --quiet --profile demo --locked -p breezeway-cli --no-default-features -- compare --quick --report $(REPORT)
	@echo "charts: $(REPORT)"

## While one works: format, lints and unit tests (budget: 1 minute when warm).
check: export CARGO_INCREMENTAL = 1
check: format columns prose arrows unsafe relaxed links
	$(LINTED) $(TEST) --quiet --lib --bins

## Before a commit is pushed: format and the tests in Rust (budget: 10 minutes from nothing on two cores).
test: format columns prose arrows unsafe relaxed links unit matrix

# Two at a time, the long ones first: each builds in a target directory of its own.
BUILDS = packages features peers-check model etcd msrv volo docs tutorial fuzz-check book api
## Before a release: what `make test` leaves out, each feature, docs, peers, packages (budget: 40 minutes).
ship:
	$(MAKE) --jobs 1 lint carriers needs upstream go measuring
	$(MAKE) --jobs 2 --output-sync=target $(BUILDS)

## What CI does not run: sanitizers, faults, kills, hostile sessions, restarts, soaks, a release's files, containers (three hours).
full: service-matrix carriers-tls go-race asan tsan properties soak slow soak-go restarts failover random-idls faults attacks torture hostile deny dist containers

## The quick rows of every table: carriers, rare calls, iceoryx2, codecs, gRPC (five minutes after the builds).
bench: release
	target/release/breezeway compare --quick
	$(MAKE) bench-rare bench-iceoryx2 bench-thrift bench-grpc

## Documentation with every feature, warnings denied: with a nightly as docs.rs builds it, else as this toolchain does.
docs:
	@if $(CARGO) +nightly --version >/dev/null 2>&1; then \
		set -x; RUSTDOCFLAGS="-D warnings --cfg docsrs" $(CARGO) +nightly doc --workspace --no-deps --all-features \
			--locked --target-dir target/docsrs; \
	else \
		set -x; RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --all-features --locked; \
	fi
	.ci/etcd docs
	.ci/volo docs

## Attacks by name against each engine, while an honest client measures (six minutes).
attacks:
	$(TORTURE)
	@if command -v go >/dev/null; then cd go && go build -o ../target/release/bwgo ./cmd/bwgo; fi
	BREEZEWAY_BWGO=target/release/bwgo target/release/torture attacks

## Remove what was built.
clean:
	$(CARGO) clean
	cd bench && $(CARGO) clean
	cd testing/peers && $(CARGO) clean

include $(wildcard tasks/*.mk)
# Every target is a task, and none is a file.
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' Makefile tasks/*.mk) $(SUITES)

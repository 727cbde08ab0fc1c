# The parts of `make ship`.

# What tests may need of a machine. Such a test is in a module of this name and ignored; `make needs`
# runs it where there is what it needs.
NEEDS = needs_go needs_huge_pages needs_ipv6 needs_namespaces needs_python needs_root needs_strace needs_systemd needs_user_namespaces
PROBED = $(shell go version >/dev/null 2>&1 && echo needs_go) \
	$(shell grep -qs hugetlbfs /proc/filesystems && echo needs_huge_pages) \
	$(shell grep -qs '^0\{31\}1 ' /proc/net/if_inet6 && echo needs_ipv6) \
	$(shell unshare --mount --pid --net --ipc --uts --fork --kill-child --mount-proc \
		sh -c 'mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /dev/shm' >/dev/null 2>&1 && echo needs_namespaces) \
	$(shell .ci/python >/dev/null 2>&1 && echo needs_python) \
	$(shell [ "$$(id -u)" = 0 ] && echo needs_root) \
	$(shell strace -f -o /dev/null true >/dev/null 2>&1 && echo needs_strace) \
	$(shell .ci/systemd >/dev/null 2>&1 && echo needs_systemd) \
	$(shell unshare --user --map-root-user --pid --ipc --mount --fork --kill-child \
		sh -c 'mount -t tmpfs tmpfs /dev/shm && mount -t proc proc /proc' >/dev/null 2>&1 && echo needs_user_namespaces)
# Probed once, by the first use.
HAS = $(eval HAS := $(PROBED))$(HAS)
LACKS = $(filter-out $(HAS),$(NEEDS))

## The tests that need a quiet machine, as they measure (2 minutes).
measuring:
	$(TEST) --quiet $(patsubst %,--test %,$(QUIET))

## The tests of sessions once more, on unix sockets and on TCP: see crates/breezeway/tests/sessions/main.rs (1 minute).
carriers:
	BREEZEWAY_TEST_CARRIER=unix $(TEST) --test sessions -- \
		on_every_carrier:: by_file:: --skip on_shm::
	BREEZEWAY_TEST_CARRIER=tcp $(TEST) --test sessions -- \
		on_every_carrier:: --skip on_shm:: --skip by_file::

## The tests that need something which not every machine has, as far as this one has it (2 minutes).
needs:
	$(if $(HAS),$(TEST) --tests -- --ignored $(HAS:%=%::))
	$(if $(filter needs_root,$(HAS)),BREEZEWAY_TEST_CARRIER=unix $(TEST) --test sessions -- \
		--ignored needs_root::)
	$(if $(filter needs_root,$(HAS)),BREEZEWAY_TEST_CARRIER=tcp $(TEST) --test sessions -- \
		--ignored needs_root:: --skip by_file::)
	@echo "Ignored, because this machine lacks what they need: $(or $(LACKS),none)"

## shmipc against upstream's programs, which are built for it: those in Go where there is Go (2 minutes).
upstream:
	BREEZEWAY_TEST_UPSTREAM=1 $(TEST) --quiet --test interop

## Discovery by etcd, a crate of its own: built where there is protoc, tested where there is etcd too.
etcd:
	.ci/etcd

## Volo's clients and services over sessions, a crate of its own; peers-check has its tests (1 minute).
volo:
	.ci/volo

LOOM = RUSTFLAGS="--cfg loom" $(CARGO) test -p breezeway-shm -p breezeway-shmipc -p breezeway --profile model --lib --test model --target-dir target/loom
## The ring, the sleep/wake protocol and the waking of workers under loom, and mutants that must fail.
model:
	$(LOOM) model

# Vet with the race detector, too, so that dependencies are compiled once.
## The Go module against this workspace's command and cases, and with Go's race detector (5 minutes).
go:
	@if command -v go >/dev/null; then \
		set -e; $(TEST) --quiet --no-run --test command --test cases; cd go; \
		export BREEZEWAY_BIN=$(CURDIR)/target/debug/breezeway BREEZEWAY_INTEROP=$(CURDIR)/target/debug/interop; \
		test -z "$$(gofmt -l .)" || { gofmt -l .; echo "go: run gofmt -w on the files above" >&2; exit 1; }; \
		go vet ./...; \
		go test ./...; \
		BREEZEWAY_BIN= BREEZEWAY_INTEROP= go test -race -short ./...; \
		(cd breezewaykitex; go generate ./...; git diff --exit-code kitex_gen); \
		for module in breezewaygrpc breezewaykitex breezewayotel examples/thrift; do \
			(cd $$module; go vet -race ./...; go test -race ./...); done; \
		cd ..; .ci/go-modules; \
	else echo "SKIPPED: the Go module needs go"; fi

## Clippy over every target, and over the crates whose features may be off (4 minutes).
lint:
	$(CARGO) clippy --workspace --all-targets --all-features --locked -- -D warnings
	$(CARGO) clippy -p breezeway-shmipc -p breezeway-thrift --all-targets --locked -- -D warnings

## Every crate without features, with each alone and with all; shmipc's tests without tokio.
features:
	.ci/features
	$(CARGO) test -p breezeway-shmipc --locked --lib --test hostile --test sessions

MDBOOK = mdbook@0.5.4
## The book of docs/ in target/book; mdBook is installed in target/tools if it is missing (2 minutes).
book:
	@command -v mdbook >/dev/null || [ -x target/tools/bin/mdbook ] \
		|| $(CARGO) install --quiet --debug --root target/tools --locked --no-default-features $(MDBOOK)
	PATH="$(CURDIR)/target/tools/bin:$$PATH" .ci/book

## The tutorials make servers and clients that do what they say.
tutorial:
	.ci/tutorial

# A check needs no nightly; a run does.
## Fuzz targets compile.
fuzz-check:
	$(CARGO) check --quiet --locked --all-targets --manifest-path testing/fuzz/fuzz/Cargo.toml \
		--target-dir target/fuzz

PEERS = $(notdir $(patsubst %/Cargo.toml,%,$(wildcard testing/peers/*/Cargo.toml)))
# What only checks shares the directory of `make lint`: most dependencies are the same.
## Comparison programs compile, in Rust and, where there is Go, in Go; three random IDLs through pilota and back; Volo's cases with ours.
peers-check:
	cd bench && $(CARGO) check --workspace --all-targets --locked --target-dir ../target
	cd testing/peers && $(CARGO) test --quiet --locked $(PEERS:%=-p %) -p breezeway-volo
	@if command -v go >/dev/null; then \
		set -e; for module in $$(git ls-files 'bench/*go.mod' 'testing/*go.mod'); do \
			echo "go vet $$module"; (cd $$(dirname $$module) && go generate ./... && go vet ./...); \
		done; \
	else echo "SKIPPED: the peers in Go need go"; fi

## Every published crate builds from its package, and its packaged tests pass there.
packages:
	.ci/packages
	.ci/etcd package
	.ci/volo package

# The oldest toolchain that the workspace is for.
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# What is for users: tests and benchmarks may need a newer one.
## Libraries and commands compile with the oldest Rust that they promise.
msrv:
	rustup toolchain list | grep -q '^$(MSRV)-' || rustup toolchain install $(MSRV) --profile minimal --no-self-update
	$(CARGO) +$(MSRV) check --workspace --all-features --locked --target-dir target/msrv
	.ci/etcd msrv $(MSRV)
	.ci/volo msrv $(MSRV)

## The public API of every published crate is the one in docs/api (2 minutes).
api:
	.ci/api

## Write docs/api anew, after an intended change of a public API.
api-update:
	.ci/api update

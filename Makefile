# `make help` lists what there is. CI runs `make test` and `make ship`.

CARGO ?= cargo
# Incremental builds take longer from nothing: they write files for a next build.
export CARGO_INCREMENTAL ?= 0
# The whole workspace, also for some of its tests: with another choice of crates, Cargo chooses other
# features and builds again.
TEST = $(CARGO) test --workspace --all-features --locked
# Clippy compiles the workspace in place of rustc, in a slower build of its own.
# CLIPPY_ARGS has the form in which `cargo clippy` passes its own arguments.
LINTED = RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
LOOM = RUSTFLAGS="--cfg loom" $(CARGO) test -p breezeway-shm -p breezeway-shmipc -p breezeway --profile model --lib --test model --target-dir target/loom

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

# The oldest toolchain that the workspace is for.
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# The test programs of `make test`. Those with a name of their own here take longest; `rest` has the
# others, so that a new one is never left out. `measuring` runs alone. The suite that takes longest
# starts first.
FOLDERS = crates examples testing
ALL_TESTS = $(sort $(basename $(notdir $(wildcard $(patsubst %,%/*/tests/*.rs,$(FOLDERS))))) \
	$(notdir $(patsubst %/main.rs,%,$(wildcard $(patsubst %,%/*/tests/*/main.rs,$(FOLDERS))))))
LONG = sessions services interop hostile command endpoints
QUIET = measuring
SUITES = $(addprefix suite-,sessions rest services interop hostile command lib doc endpoints)

.PHONY: help demo charts check test ship full measuring $(SUITES) format columns prose links arrows unsafe lint unit model release upstream budgets peers bench-iceoryx2 bench-grpc study-grpc bench-rpc bench-thrift bench-compile bench-tokio bench-threads bench-against bench-calls bench-idle bench-fairness bench-cold bench-streams bench-tls bench-go clean go go-race fuzz-go \
	golden carriers carriers-tls needs relaxed arm64 etcd soak soak-go slow restarts failover polling shmipc-peers bench-shmipc features docs tutorial fuzz-check peers-check random-idls packages msrv asan tsan properties hostile attacks faults torture fuzz
.DEFAULT_GOAL := help

## This list.
help:
	@awk '/^## / { text = substr($$0, 4); next } \
		/^[a-z-]+:/ && text != "" { split($$1, name, ":"); printf "  %-14s %s\n", name[1], text } { text = "" }' $(MAKEFILE_LIST)

# ---- what one does with a checkout ----

REPORT ?= target/compare.html
# Without gRPC, TLS and Thrift, which comparing carriers does not need.
## Build, then compare every carrier at every size, in µs and in floors: a minute after the build.
demo:
	@mkdir -p $(dir $(REPORT))
	$(CARGO) build --profile demo --locked -p breezeway-cli --no-default-features
	$(CARGO) run --quiet --profile demo --locked -p breezeway-cli --no-default-features -- compare --quick --report $(REPORT)
	@echo "charts: $(REPORT)"

## The charts of the README, with iceoryx2 and the bare lines (three minutes after the builds).
charts: release
	cd bench && $(CARGO) build --release --locked --quiet -p iceoryx2-ping-pong
	.ci/charts

## While one works: format, lints and unit tests (budget: 1 minute when warm).
check: export CARGO_INCREMENTAL = 1
check: format columns prose arrows unsafe relaxed links
	$(LINTED) $(TEST) --quiet --lib --bins

## Before a commit is pushed: format and the tests in Rust (budget: 10 minutes from nothing on two cores).
test: format columns prose arrows unsafe relaxed links unit

# Two at a time, the long ones first: each builds in a target directory of its own.
BUILDS = peers-check features packages model etcd msrv docs fuzz-check tutorial
## Before a release: what `make test` leaves out, each feature, docs, peers, packages (budget: 40 minutes).
ship:
	$(MAKE) --jobs 1 lint carriers needs upstream go measuring
	$(MAKE) --jobs 2 --output-sync=target $(BUILDS)

## What CI does not run: sanitizers, faults, kills, hostile sessions, restarts, soaks (three hours).
full: carriers-tls go-race asan tsan properties soak slow soak-go restarts failover random-idls faults attacks torture hostile

# ---- parts of `make test` ----

## Formatting as rustfmt has it.
format:
	$(CARGO) fmt --all --check

## No comment and no line of a document is longer than 100 columns.
columns:
	.ci/columns

## Wording that readers stumble over stays within the limits in .ci/prose.
prose:
	.ci/prose

## Links of documents lead somewhere, and the tests that documents name exist.
links:
	.ci/links

## Dependencies between crates point in one direction.
arrows:
	.ci/arrows

## Unsafe code stands only where docs/design.md allows it.
unsafe:
	.ci/unsafe

## docs/models.md lists every relaxed access to an atomic.
relaxed:
	.ci/relaxed

## Every test with every feature, three programs at a time (CONTRIBUTING.md has minutes and budgets).
unit:
	$(TEST) --no-run
	@! $(TEST) --no-run 2>&1 | grep Compiling \
		|| { echo "unit: without a change, cargo compiles the crates above again" >&2; exit 1; }
	$(MAKE) --jobs 3 --keep-going --output-sync=target $(SUITES)

$(LONG:%=suite-%): suite-%:
	$(TEST) --quiet --test $*
# `--bins` and `--examples` would compile each program a second time; only the command has tests.
suite-lib:
	$(TEST) --quiet --lib --bin breezeway
suite-rest:
	$(TEST) --quiet $(patsubst %,--test %,$(filter-out $(LONG) $(QUIET),$(ALL_TESTS)))
# rustdoc warns of a jobserver that it cannot reach.
suite-doc:
	MAKEFLAGS= $(TEST) --quiet --doc

## The tests that need a quiet machine, as they measure (2 minutes).
measuring:
	$(TEST) --quiet $(patsubst %,--test %,$(QUIET))

## The tests of sessions once more, on unix sockets and on TCP: see crates/breezeway/tests/sessions/main.rs (1 minute).
carriers:
	BREEZEWAY_TEST_CARRIER=unix $(TEST) --test sessions -- \
		on_every_carrier:: by_file:: --skip on_shm::
	BREEZEWAY_TEST_CARRIER=tcp $(TEST) --test sessions -- \
		on_every_carrier:: --skip on_shm:: --skip by_file::

## The same within TLS (a minute).
carriers-tls:
	BREEZEWAY_TEST_CARRIER=tls $(TEST) --test sessions -- \
		on_every_carrier:: --skip on_shm:: --skip by_file:: --skip failed_handshakes:: --skip foreign::

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

## The ring, the sleep/wake protocol and the waking of workers under loom, and mutants that must fail.
model:
	$(LOOM) model

## The Go module against this workspace's command and cases, and with Go's race detector (5 minutes).
go:
	@if command -v go >/dev/null; then \
		set -e; $(TEST) --quiet --no-run --test command --test cases; cd go; \
		export BREEZEWAY_BIN=$(CURDIR)/target/debug/breezeway BREEZEWAY_INTEROP=$(CURDIR)/target/debug/interop; \
		test -z "$$(gofmt -l .)" || { gofmt -l .; echo "go: run gofmt -w on the files above" >&2; exit 1; }; \
		go vet ./...; \
		go test ./...; \
		BREEZEWAY_BIN= BREEZEWAY_INTEROP= go test -race -short ./...; \
		cd grpc; go vet ./...; go test -race ./...; \
		cd ../kitex; go generate ./...; git diff --exit-code kitex_gen; go vet ./...; go test -race ./...; \
		cd ../examples/thrift; go vet ./...; go test -race ./...; \
		cd ../../..; .ci/go-modules; \
	else echo "SKIPPED: the Go module needs go"; fi

# The emulator has neither SO_PEEK_OFF nor MSG_CTRUNC, and ignores most of madvise, which some tests
# are about.
ARM64 = aarch64-unknown-linux-gnu
## Unit tests of the Go module, and of the crates on the operating system, as arm64 programs under qemu-user (minutes).
arm64:
	@if command -v go >/dev/null && command -v qemu-aarch64 >/dev/null; then \
		cd go && GOARCH=arm64 go test -short -exec qemu-aarch64 . ./internal/...; \
	else echo "SKIPPED: Go's tests for arm64 need go and qemu-aarch64 (Debian's qemu-user)"; fi
	@if command -v qemu-aarch64 >/dev/null && command -v aarch64-linux-gnu-gcc >/dev/null \
		&& rustup target list --installed | grep -q $(ARM64); then \
		CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
		CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
		$(CARGO) test --target $(ARM64) --target-dir target/arm64 --locked --lib -p breezeway-os -p breezeway-shm \
			-- --skip reads_that_peek_go_on \
			--skip keeps_bytes_after_page_out --skip failed_piece_is_skipped; \
	else echo "SKIPPED: Rust's tests for arm64 need qemu-aarch64, gcc-aarch64-linux-gnu and the target $(ARM64)"; fi

# The Go modules, and the last version of staticcheck that was tried.
GO_MODULES = . grpc kitex examples/thrift
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
## go vet and staticcheck over the Go modules, and all their tests under the race detector (minutes).
go-race:
	@if command -v go >/dev/null; then \
		set -e; $(TEST) --quiet --no-run --test command --test cases; \
		export BREEZEWAY_BIN=$(CURDIR)/target/debug/breezeway BREEZEWAY_INTEROP=$(CURDIR)/target/debug/interop; \
		for module in $(GO_MODULES); do \
			echo "go/$$module"; (cd go/$$module; go vet ./...; $(STATICCHECK) ./...; go test -race ./...); \
		done; \
	else echo "SKIPPED: the Go module needs go"; fi

# The suites of one process. Inline assembly is not instrumented, nor is the standard library. Skipped
# are a bound of 2 MiB that is passed by 26 KiB there, and a server that refuses what it has not
# begun in no time at all: so slow, it ends before it has seen all of it.
ASAN = RUSTFLAGS="-Zsanitizer=address" $(CARGO) +nightly test --locked --target $(shell rustc -vV | sed -n 's/^host: //p') \
	--target-dir target/asan
## AddressSanitizer over the crates that have unsafe code, and those on top: some ten minutes (needs a nightly).
asan:
	$(ASAN) --no-fail-fast --lib -p breezeway-os -p breezeway-shm -p breezeway -p breezeway-tokio -p breezeway-shmipc -p breezeway-thrift
	$(ASAN) -p breezeway-shm --test endpoints
	$(ASAN) -p breezeway --test sessions -- channels::
	$(ASAN) -p breezeway-tokio --test sessions -- --skip examples::

## ThreadSanitizer over pools, channels and hand-offs: some six minutes (needs a nightly and perl).
tsan:
	.ci/tsan

CASES ?= 20000
## Random conversations against a model of calls and of streams (CASES=20000; `make test` has 256).
properties:
	PROPTEST_CASES=$(CASES) $(CARGO) test --release --locked -p breezeway-proto connection::tests

# ---- parts of `make ship` ----

## Clippy over every target, and over the crates whose features may be off (4 minutes).
lint:
	$(CARGO) clippy --workspace --all-targets --all-features --locked -- -D warnings
	$(CARGO) clippy -p breezeway-shmipc -p breezeway-thrift --all-targets --locked -- -D warnings

## Every crate without features, with each alone and with all; shmipc's tests without tokio.
features:
	.ci/features
	$(CARGO) test -p breezeway-shmipc --locked --lib --test hostile --test sessions

## Documentation with every feature, warnings denied: with a nightly as docs.rs builds it, else as this toolchain does.
docs:
	@if $(CARGO) +nightly --version >/dev/null 2>&1; then \
		set -x; RUSTDOCFLAGS="-D warnings --cfg docsrs" $(CARGO) +nightly doc --workspace --no-deps --all-features \
			--locked --target-dir target/docsrs; \
	else \
		set -x; RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --all-features --locked; \
	fi
	.ci/etcd docs

## The tutorial makes a server and a client that do what it says.
tutorial:
	.ci/tutorial

# A check needs no nightly; a run does.
## Fuzz targets compile.
fuzz-check:
	$(CARGO) check --quiet --locked --all-targets --manifest-path testing/fuzz/fuzz/Cargo.toml \
		--target-dir target/fuzz

## Comparison programs compile, in Rust and, where there is Go, in Go; three random IDLs through pilota and back; Volo's cases with ours.
peers-check:
	cd bench && $(CARGO) check --workspace --all-targets --locked
	cd testing/peers && $(CARGO) check --workspace --all-targets --locked
	cd testing/peers && $(CARGO) test --quiet --locked -p idl-exchange -p volo-interop
	@if command -v go >/dev/null; then \
		set -e; for module in $$(git ls-files 'bench/*go.mod' 'testing/*go.mod'); do \
			echo "go vet $$module"; (cd $$(dirname $$module) && go generate ./... && go vet ./...); \
		done; \
	else echo "SKIPPED: the peers in Go need go"; fi

## Every published crate builds from its package, and its packaged tests pass there.
packages:
	.ci/packages
	.ci/etcd package

# What is for users: tests and benchmarks may need a newer one.
## Libraries and commands compile with the oldest Rust that they promise.
msrv:
	rustup toolchain list | grep -q '^$(MSRV)-' || rustup toolchain install $(MSRV) --profile minimal --no-self-update
	$(CARGO) +$(MSRV) check --workspace --all-features --locked --target-dir target/msrv
	.ci/etcd msrv $(MSRV)

# ---- searches ----

SEED ?= 1
COUNT ?= 200
## Random IDLs and messages through pilota and Apache's compiler (if it is installed), both ways; the first at fault is made smaller.
random-idls:
	cd testing/peers && set -e; for mutant in lost number name; do \
		$(CARGO) run --quiet --locked -p random-idls -- --count 20 --mutant $$mutant; done
	cd testing/peers && $(CARGO) run --quiet --locked -p random-idls -- --seed $(SEED) --count $(COUNT)

# ---- attacks ----

# Optimised, but linked in a minute.
TORTURE = $(CARGO) build --release --locked -p breezeway-torture \
	--config profile.release.lto=false --config profile.release.codegen-units=16
SESSIONS ?= 100000
## Hostile sessions by chance against each engine (SESSIONS=100000), while an honest client measures (half an hour).
hostile:
	$(TORTURE)
	@if command -v go >/dev/null; then cd go && go build -o ../target/release/bwgo ./cmd/bwgo; fi
	BREEZEWAY_BWGO=target/release/bwgo target/release/torture hostile --sessions $(SESSIONS)

## Attacks by name against each engine, while an honest client measures (six minutes).
attacks:
	$(TORTURE)
	@if command -v go >/dev/null; then cd go && go build -o ../target/release/bwgo ./cmd/bwgo; fi
	BREEZEWAY_BWGO=target/release/bwgo target/release/torture attacks

KILLS ?= 5000
## Clients and servers of each engine killed within named steps (KILLS=5000), and what the survivors have (minutes).
torture:
	$(TORTURE)
	@if command -v go >/dev/null; then cd go && go build -o ../target/release/bwgo ./cmd/bwgo; fi
	BREEZEWAY_BWGO=target/release/bwgo target/release/torture kills --kills $(KILLS)

## Every system call of servers and clients fails once, with each error that it may answer (half an hour).
faults:
	$(TORTURE)
	target/release/torture faults --texts

SECONDS ?= 300
FUZZ_TARGETS = $(basename $(notdir $(wildcard testing/fuzz/fuzz/fuzz_targets/*.rs)))
## Each fuzz target for a while (SECONDS=300), one after the other (needs a nightly and cargo-fuzz).
fuzz:
	@if cargo +nightly fuzz --version >/dev/null 2>&1; then \
		set -e; cd testing/fuzz; for target in $(FUZZ_TARGETS); do \
			mkdir -p fuzz/corpus/$$target; \
			cargo +nightly fuzz run $$target fuzz/corpus/$$target seeds/$$target \
				-- -max_total_time=$(SECONDS) -print_final_stats=1; \
		done; \
	else echo "SKIPPED: fuzzing needs a nightly toolchain and cargo-fuzz"; fi

## The Go module's fuzz targets, each for a while (SECONDS=300), with seeds of the vectors.
fuzz-go:
	@if command -v go >/dev/null; then \
		set -e; cd go; for target in FuzzHello FuzzEntry FuzzFrame; do \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(SECONDS)s ./internal/proto; \
		done; \
	else echo "SKIPPED: the Go module needs go"; fi

# ---- figures ----

## Two million messages of random sizes, call by call and pipelined: no page faults and no growth (about two minutes).
soak:
	$(CARGO) test --release --locked -p breezeway --test sessions -- --ignored --exact --nocapture \
		on_shm::growth::million_random_sizes_cause_no_faults_or_growth

SLOW_SECONDS ?= 180
## A fast producer and a slow consumer for three minutes on each carrier (SLOW_SECONDS=180): memory stays bounded.
slow:
	set -e; for carrier in shm unix tcp; do \
		BREEZEWAY_TEST_CARRIER=$$carrier SLOW_SECONDS=$(SLOW_SECONDS) $(CARGO) test --release --locked -p breezeway \
			--test sessions -- --exact --nocapture on_every_carrier::slow_consumer::$(SLOW_TEST); done
SLOW_TEST = fast_producer_keeps_slow_consumers_pace_and_memory

## Ten minutes of sessions, calls and streams in Go: heap, descriptors and mappings stay as they were.
soak-go:
	cd go && go test -run Soak . -soak 10m -timeout 1h -v

GENERATIONS ?= 200
## Two hundred generations of servers, of services and of gRPC, each a process, under load: no failed call, no message lost or doubled (minutes).
restarts:
	GENERATIONS=$(GENERATIONS) $(CARGO) test --release --locked -p breezeway-tokio --test sessions -- --ignored --exact --nocapture \
		generations::generations_in_a_row_under_load_lose_and_leave_nothing
	GENERATIONS=$(GENERATIONS) $(CARGO) test --locked -p breezeway-rpc --all-features --test services -- --nocapture restarting::
	GENERATIONS=$(GENERATIONS) $(CARGO) test --locked -p breezeway-grpc --test interop -- --nocapture restarting::

## Three instances, two in network namespaces as root, killed, frozen and started again at random for a minute: only calls in flight there fail.
failover:
	$(CARGO) test --locked -p breezeway-rpc --all-features --test services -- --ignored --exact --nocapture \
		failover::minute_of_failover_fails_only_calls_in_flight

## The command, optimised.
release:
	$(CARGO) build --release --locked -p breezeway-cli

## Every budget, interleaved with the floor (about fifteen minutes).
budgets: peers
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench budgets
	bench/target/release/iceoryx2-ping-pong beside

## Breezeway and iceoryx2 in turn on the same work (a minute).
bench-iceoryx2:
	cd bench && $(CARGO) build --release --locked --quiet -p iceoryx2-ping-pong
	bench/target/release/iceoryx2-ping-pong beside

## Threads on one shared session against plain unix sockets (a minute).
bench-threads:
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench threads

## A call with a time-out, and through a client, against a session's plain one (half a minute).
bench-calls:
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench calls

BASE ?= HEAD~1
## Echoes of this state beside those of a commit (BASE=HEAD~1), in pairs (two minutes after the builds).
bench-against:
	@set -e; tree=$$(mktemp -d); trap 'git worktree remove --force "$$tree"' EXIT; \
	git worktree add --quiet --detach "$$tree" $(BASE); \
	$(CARGO) build --release --locked -p breezeway-cli --manifest-path "$$tree/Cargo.toml" \
		--target-dir target/against; \
	BREEZEWAY_BASE=$(CURDIR)/target/against/release/breezeway \
		$(CARGO) bench --quiet --locked -p breezeway-cli --bench against

## What 1,000 idle sessions cost, and the busy one among them (half a minute).
bench-idle:
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench idle

## How long sessions wait whose worker is in handlers of 10 ms (half a minute).
bench-fairness:
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench fairness

## Fresh sessions in shared memory against fresh ones on unix sockets, interleaved (a minute).
bench-cold:
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench cold

## What TLS costs: `tls:` beside `tcp:` on the same work, interleaved (a minute).
bench-tls:
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench tls

## A stream beside a reader that sleeps, and frames of 8 MiB against a unix socket (a minute).
bench-streams:
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench streams

## The Go module beside Rust, shmipc-go and a unix socket in Go, interleaved with the floor, and 1,000 idle sessions (three minutes).
bench-go: release
	mkdir -p bench/target/release
	cd go && go build -o ../bench/target/release/bwgo ./cmd/bwgo
	cd bench/shmipc-go && go build -o ../target/release/shmipc-go .
	cd bench/go-peers && go build -o ../target/release/go-peers .
	bench/bench-go
	cd go && go test -count 1 -v -run MeasureIdle . -idle 1000

## What polling does for sessions on sockets (two minutes).
polling:
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench polling

## The Thrift codec beside others, interleaved, with its targets (about a minute).
bench-thrift:
	cd bench && $(CARGO) run --release --locked --quiet -p thrift-peers

## CPU seconds of rustc for the generated Rust of IDL=FILE, beside pilota-build's (without: a struct of 300 fields).
bench-compile:
	IDL="$(IDL)" bench/compile-time/measure

## breezeway-grpc against tonic's own unix endpoint, interleaved (a minute).
bench-grpc:
	cd bench && $(CARGO) run --release --locked --quiet -p grpc-peers

## 100,000 health checks each by grpc-go, tonic and ours, with allocations, then at fixed rates (five minutes).
study-grpc:
	cd bench && $(CARGO) build --release --locked --quiet -p grpc-peers
	cd testing/peers/grpc-go && go build -o ../../../bench/target/release/grpc-go .
	bench/target/release/grpc-peers study 100000 bench/target/release/grpc-go
	bench/target/release/grpc-peers paced

## Services beside a raw echo, Volo and Kitex, interleaved (about four minutes).
bench-rpc:
	$(CARGO) bench --quiet --locked -p breezeway-rpc --bench five_fields
	$(CARGO) bench --quiet --locked -p breezeway-rpc --bench in_place
	cd bench && $(CARGO) build --release --locked --quiet -p rpc-peers
	cd testing/peers/kitex-peers && go generate ./... && go build -o ../../../bench/target/release/kitex-peers .
	bench/target/release/rpc-peers volo
	bench/target/release/rpc-peers paced
	bench/target/release/rpc-peers kitex bench/target/release/kitex-peers

## Breezeway under tokio against the crate shmipc and tokio's unix sockets, interleaved (about ten minutes).
bench-tokio:
	cd bench && $(CARGO) build --release --locked --quiet -p tokio-peers
	bench/target/release/tokio-peers streams
	bench/target/release/tokio-peers streams --two-processes
	bench/target/release/tokio-peers closed
	bench/target/release/tokio-peers paced

## Writes what the IDL generator's golden files and the traces of sessions have to be: see what differs.
golden:
	UPDATE_GOLDEN=1 $(CARGO) test -p breezeway-idl --test generator golden
	UPDATE_GOLDEN=1 $(CARGO) test -p breezeway --test sessions traces::

## Comparison programs; rivals are dependencies here only.
peers:
	cd bench && $(CARGO) build --release --locked

## Upstream's programs for `bench-shmipc`; the interoperability tests build their own.
shmipc-peers:
	cd bench && $(CARGO) build --release --locked -p shmipc-rs
	cd bench/shmipc-go && go build -o ../target/release/shmipc-go .

## Our shmipc against upstream's own, with itself and mixed (about five minutes).
bench-shmipc: shmipc-peers
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench shmipc

## Remove what was built.
clean:
	$(CARGO) clean
	cd bench && $(CARGO) clean
	cd testing/peers && $(CARGO) clean

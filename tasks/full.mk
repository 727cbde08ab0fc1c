# The parts of `make full`, and searches for faults.

## The same within TLS (a minute).
carriers-tls:
	BREEZEWAY_TEST_CARRIER=tls $(TEST) --test sessions -- \
		on_every_carrier:: --skip on_shm:: --skip by_file:: --skip failed_handshakes:: --skip foreign::

# The emulator has neither SO_PEEK_OFF nor MSG_CTRUNC, and ignores most of madvise, which some tests
# are about.
ARM64 = aarch64-unknown-linux-gnu
## Unit tests of the Go module, and of the crates on the operating system, as arm64 programs under qemu-user (minutes).
arm64:
	@if command -v go >/dev/null && command -v qemu-aarch64 >/dev/null; then \
		cd go && GOARCH=arm64 go test -short -exec qemu-aarch64 ./breezeway ./internal/...; \
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
GO_MODULES = . breezewaygrpc breezewaykitex breezewayotel examples/thrift
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
	$(ASAN) -p breezeway --test sessions -- shared::
	$(ASAN) -p breezeway-tokio --test sessions

## ThreadSanitizer over pools, channels and hand-offs: some six minutes (needs a nightly and perl).
tsan:
	.ci/tsan

CASES ?= 20000
## Random conversations against a model of calls and of streams (CASES=20000; `make test` has 256).
properties:
	PROPTEST_CASES=$(CASES) $(CARGO) test --release --locked -p breezeway-proto connection::tests

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
	cd go && go test -run Soak ./breezeway -soak 10m -timeout 1h -v

## Each case of each client of a Thrift service with each server, those of Kitex and Volo too (a minute when built).
service-matrix:
	$(CARGO) build --quiet --workspace --all-features --locked --bin matrix
	target/debug/matrix table

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

SEED ?= 1
COUNT ?= 200
## Random IDLs and messages through pilota and Apache's compiler (if it is installed), both ways; the first at fault is made smaller.
random-idls:
	cd testing/peers && set -e; for mutant in lost number name; do \
		$(CARGO) run --quiet --locked -p random-idls -- --count 20 --mutant $$mutant; done
	cd testing/peers && $(CARGO) run --quiet --locked -p random-idls -- --seed $(SEED) --count $(COUNT)

# Optimised, but linked in a minute. Panics of tokio are known by the lines of their backtraces.
TORTURE = $(CARGO) build --release --locked -p breezeway-torture \
	--config profile.release.lto=false --config profile.release.codegen-units=16 \
	--config profile.release.strip=false --config profile.release.debug=1
SESSIONS ?= 100000
## Hostile sessions by chance against each engine (SESSIONS=100000), while an honest client measures (half an hour).
hostile:
	$(TORTURE)
	@if command -v go >/dev/null; then cd go && go build -o ../target/release/bwgo ./cmd/bwgo; fi
	BREEZEWAY_BWGO=target/release/bwgo target/release/torture hostile --sessions $(SESSIONS)

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

DENY = cargo-deny@0.20.2
## Licences, sources and second versions of dependencies; advisories where their database can be reached. cargo-deny is installed like mdBook.
deny:
	@command -v cargo-deny >/dev/null || [ -x target/tools/bin/cargo-deny ] \
		|| $(CARGO) install --quiet --root target/tools --locked --no-default-features $(DENY)
	PATH="$(CURDIR)/target/tools/bin:$$PATH" .ci/deny

## A release's tarball, Debian package, SBOM and checksums in target/dist, and each in an empty namespace (PROFILE=demo: sooner).
dist:
	.ci/dist
	.ci/dist-check

## The command of `make dist` in containers of podman, without a common namespace (a minute).
containers:
	.ci/containers

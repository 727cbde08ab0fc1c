# Measurements: run them on a quiet machine.

## The charts of docs/performance.md, with iceoryx2 and the bare lines (three minutes after the builds).
charts: release
	cd bench && $(CARGO) build --release --locked --quiet -p iceoryx2-ping-pong
	.ci/charts

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
	cd go && go test -count 1 -v -run MeasureIdle ./breezeway -idle 1000

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
	bench/target/release/tokio-peers rare

## Rare calls under tokio and in Go beside their unix sockets, in pairs; CPUS=0,1 pins client and server (two minutes).
bench-rare:
	cd bench && $(CARGO) build --release --locked --quiet -p tokio-peers
	bench/target/release/tokio-peers rare $(CPUS:%=--cpus %)
	@if command -v go >/dev/null; then set -x; \
		(cd go && go build -o ../bench/target/release/bwgo ./cmd/bwgo) && \
		(cd bench/go-peers && go build -o ../target/release/go-peers .) && \
		bench/rare-go $(CPUS:%=--cpus %); \
	else echo "Go: left out, as it is not installed"; fi

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

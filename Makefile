# Two commands do everything: `make demo` and `make test`.

CARGO ?= cargo
LOOM = RUSTFLAGS="--cfg loom" $(CARGO) test -p breezeway-shm -p breezeway-shmipc --profile model --lib --target-dir target/loom

.PHONY: demo test format lint unit model release budgets peers shmipc-peers bench-shmipc clean

## Build, then show two processes exchanging messages, with the cost in floors.
demo:
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench budgets -- --quick

## What CI runs: format check, lints with warnings denied, every test of every crate, the models.
test: format lint unit model

format:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy -p breezeway-shmipc --all-targets --all-features --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

unit:
	$(CARGO) test --workspace --locked
	$(CARGO) test -p breezeway-shmipc --features tokio --test tasks --locked

## The ring and the sleep/wake protocol under loom, and mutants of both that must fail.
model:
	$(LOOM) model

release:
	$(CARGO) build --release --locked -p breezeway-cli

## Every budget, interleaved with the floor (about ten minutes).
budgets: peers
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench budgets

## Comparison programs; rivals are dependencies here only.
peers:
	cd peers && $(CARGO) build --release --locked

## Upstream's programs for `bench-shmipc`; the interoperability tests build their own.
shmipc-peers:
	cd peers && $(CARGO) build --release --locked -p shmipc-rs
	cd peers/shmipc-go && go build -o ../target/release/shmipc-go .

## Our shmipc against upstream's own, with itself and mixed (about five minutes).
bench-shmipc: shmipc-peers
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench shmipc

clean:
	$(CARGO) clean
	cd peers && $(CARGO) clean

# Two commands do everything: `make demo` and `make test`.

CARGO ?= cargo
LOOM = RUSTFLAGS="--cfg loom" $(CARGO) test -p breezeway-shm --profile model --lib --target-dir target/loom

.PHONY: demo test format lint unit model release budgets peers bench-thrift clean golden

## Build, then show two processes exchanging messages, with the cost in floors.
demo:
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench budgets -- --quick

## What CI runs: format check, lints with warnings denied, every test of every crate, the models.
test: format lint unit model

format:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

unit:
	$(CARGO) test --workspace --locked

## The ring and the sleep/wake protocol under loom, and mutants of both that must fail.
model:
	$(LOOM) model

release:
	$(CARGO) build --release --locked -p breezeway-cli

## Every budget, interleaved with the floor (about ten minutes).
budgets: peers
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench budgets

## The Thrift codec beside others, interleaved, with its targets (about a minute).
bench-thrift:
	cd peers && $(CARGO) run --release --locked --quiet -p thrift-peers

## Writes what the IDL generator's golden files have to be: look at the difference.
golden:
	UPDATE_GOLDEN=1 $(CARGO) test -p breezeway-idl --test golden

## Comparison programs; rivals are dependencies here only.
peers:
	cd peers && $(CARGO) build --release --locked

clean:
	$(CARGO) clean
	cd peers && $(CARGO) clean

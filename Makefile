# Two commands do everything: `make demo` and `make test`.

CARGO ?= cargo
LOOM = RUSTFLAGS="--cfg loom" $(CARGO) test -p breezeway-shm -p breezeway-shmipc --profile model --lib --target-dir target/loom

# What is said of a session whatever it travels by: these run on every carrier, and with all others on shm.
NEUTRAL = sizes two_processes pool clients failures deaths stopping waiting strangers parent_and_child model
# About the socket file, which TCP has none of.
FILES = addresses

.PHONY: demo test format lint unit model release budgets peers bench-thrift clean golden carriers soak polling shmipc-peers bench-shmipc

## Build, then compare every carrier at every size, in floors: under two minutes after the build. Charts are in the report.
REPORT ?= target/compare.html
demo: release
	@mkdir -p $(dir $(REPORT))
	$(CARGO) run --quiet --release --locked -p breezeway-cli -- compare --quick --report $(REPORT)

## What CI runs: format check, lints with warnings denied, every test of every crate, those of sessions on every carrier, the models.
test: format lint unit carriers model

format:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy -p breezeway-shmipc --all-targets --all-features --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

unit:
	$(CARGO) test --workspace --locked
	$(CARGO) test -p breezeway-shmipc --features tokio --test tasks --locked

## The tests of sessions once more, on unix sockets and on TCP.
carriers:
	BREEZEWAY_TEST_CARRIER=unix $(CARGO) test -p breezeway --locked $(NEUTRAL:%=--test %) $(FILES:%=--test %)
	BREEZEWAY_TEST_CARRIER=tcp $(CARGO) test -p breezeway --locked $(NEUTRAL:%=--test %)

## The ring and the sleep/wake protocol under loom, and mutants of both that must fail.
model:
	$(LOOM) model

## A million messages of random sizes, call by call and pipelined: no page faults and no growth (about two minutes).
soak:
	$(CARGO) test --release --locked -p breezeway --test growth -- --ignored --exact --nocapture \
		a_million_messages_of_random_sizes_cause_neither_page_faults_nor_growth

release:
	$(CARGO) build --release --locked -p breezeway-cli

## Every budget, interleaved with the floor (about ten minutes).
budgets: peers
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench budgets

## What polling does for sessions on sockets (two minutes).
polling:
	$(CARGO) bench --quiet --locked -p breezeway-cli --bench polling
## The Thrift codec beside others, interleaved, with its targets (about a minute).
bench-thrift:
	cd peers && $(CARGO) run --release --locked --quiet -p thrift-peers

## Writes what the IDL generator's golden files have to be: look at the difference.
golden:
	UPDATE_GOLDEN=1 $(CARGO) test -p breezeway-idl --test golden

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

# The parts of `make test`.

# The test programs of `make test`. Those with a name of their own here take longest; `rest` has the
# others, so that a new one is never left out. `measuring` runs alone. The suite that takes longest
# starts first.
FOLDERS = crates/* examples testing/*
# breezeway-etcd is a workspace of its own.
TEST_FILES = $(filter-out crates/breezeway-etcd/%,$(wildcard $(FOLDERS:%=%/tests/*.rs) $(FOLDERS:%=%/tests/*/main.rs)))
ALL_TESTS = $(sort $(basename $(notdir $(patsubst %/main.rs,%,$(TEST_FILES)))))
LONG = sessions services interop hostile command endpoints
QUIET = measuring
SUITES = $(addprefix suite-,sessions rest services interop hostile command lib doc endpoints)

## Formatting as rustfmt has it, in each workspace.
format:
	set -e; for folder in . bench crates/breezeway-etcd crates/breezeway-volo testing/fuzz/fuzz testing/peers; do \
		$(CARGO) fmt --manifest-path $$folder/Cargo.toml --all --check; \
	done

## No comment and no line of a document is longer than 100 columns.
columns:
	.ci/columns

## Wording that readers stumble over stays within the limits in .ci/prose.
prose:
	.ci/prose

## Links of documents lead somewhere, the tests that they name exist, and code of the guide is that of examples.
links:
	.ci/links
	.ci/excerpts

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

# Volo is not in it: it takes a minute to build.
## The main cases of each client of a Thrift service with each server, also in Go where it is (half a minute when built).
matrix:
	$(CARGO) build --quiet --workspace --all-features --locked --bin matrix
	target/debug/matrix table --short

## Writes what the IDL generator's golden files and the traces of sessions have to be: see what differs.
golden:
	UPDATE_GOLDEN=1 $(CARGO) test -p breezeway-idl --test generator golden
	UPDATE_GOLDEN=1 $(CARGO) test -p breezeway-idl-corpus --test golden_go
	UPDATE_GOLDEN=1 $(CARGO) test -p breezeway --test sessions traces::

//! loom models of the ring and of sleeping and waking, and of mutants of them that must fail.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p breezeway-shm --profile model --lib --target-dir
//! target/loom model`
//!
//! The ring and the order of publications, intents and fences ([`Duplex`](super::Duplex)) are the
//! shipped code. [`End`](stage::End) stands for `Endpoint`, which needs sockets and mappings, and
//! takes its steps in the same order. The session socket is a [`Socket`](stage::Socket): bytes stay
//! until they are read, and one that is full takes no more.
//!
//! Limits of the checker. Loads return old values as C11 allows, but a load never sees a store that
//! the schedule has not yet made: reordering of a load with a *later* store (load buffering) is out
//! of its reach. A copy of an entry that a later lap overwrites is such a case, so entries alone do
//! not show that `consumed` must be released and acquired; a plain cell does, since there loom
//! demands happens-before itself. And a full fence synchronises with every full fence before it,
//! which is more than C11 promises for plain cells; the models of publishing and of payload
//! therefore run without one.
//!
//! Every schedule is run, except where a test names a bound, for those models would take minutes. A
//! bound counts preemptions, not the switches of a thread that waits; each mutant of a bounded
//! model is found with two.

mod both_ways;
pub(crate) mod checking;
mod data;
mod entries;
mod payload;
mod releases;
mod space;
mod stage;

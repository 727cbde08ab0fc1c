//! Volo's clients and services over native sessions: shared memory and unix sockets.

mod calls;
mod failures;
mod instances;
mod kill;
mod layers;
mod shop;
